#include "src/surrogate/model_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "foretell/error.h"
#include "tests/surrogate/toy_table.h"

namespace foretell::surrogate {
namespace {

using testing::HasSubstr;

Table Rows() {
  return ToyTable(
      4, 4, [](double batch, double edge) { return 50 + batch * edge * edge; });
}

FittedModel Fit(Method method) {
  return FitModel(Rows(), method, {.population = 20, .generations = 3});
}

class EveryMethod : public testing::TestWithParam<Method> {};

TEST_P(EveryMethod, ReadsBackAsTheSameFunction) {
  const FittedModel fitted = Fit(GetParam());
  const FittedModel read = FittedFromJson(FittedToJson(fitted), "model.json");
  EXPECT_EQ(read.method, GetParam());
  EXPECT_EQ(read.columns, fitted.columns);
  EXPECT_EQ(read.highest, fitted.highest);
  EXPECT_EQ(read.model->Predict(Rows().inputs),
            fitted.model->Predict(Rows().inputs));
}

INSTANTIATE_TEST_SUITE_P(ModelJson, EveryMethod,
                         testing::ValuesIn(AllMethods()));

std::string ErrorAfter(Method method,
                       const std::function<void(nlohmann::json&)>& change) {
  static std::map<Method, nlohmann::json> documents;
  if (!documents.contains(method)) {
    documents[method] = nlohmann::json::parse(FittedToJson(Fit(method)));
  }
  nlohmann::json json = documents[method];
  change(json);
  try {
    FittedFromJson(json.dump(), "model.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ModelJson, NamesWhatIsWrong) {
  EXPECT_THAT(ErrorAfter(Method::kLinear,
                         [](auto& json) { json["schema_version"] = 2; }),
              HasSubstr("model.json: schema_version is 2, expected 1"));
  EXPECT_THAT(
      ErrorAfter(Method::kLinear, [](auto& json) { json["method"] = "magic"; }),
      HasSubstr("model.json: method is 'magic'"));
  EXPECT_THAT(
      ErrorAfter(Method::kLinear,
                 [](auto& json) { json["model"]["terms"][0]["powers"] = {1}; }),
      HasSubstr("has 1 numbers, expected 2"));
}

TEST(ModelJson, RefusesTreesThatLeadNowhere) {
  for (const int place : {0, 1, 100'000}) {
    EXPECT_THAT(ErrorAfter(Method::kExtraTrees,
                           [place](auto& json) {
                             json["model"]["trees"][0]["right"][0] = place;
                           }),
                HasSubstr("right [0] is"));
  }
  EXPECT_THAT(ErrorAfter(Method::kForest,
                         [](auto& json) {
                           json["model"]["trees"][0]["column"][0] = 2;
                         }),
              HasSubstr("for column 2"));
}

TEST(ModelJson, RefusesLayersThatDoNotFollow) {
  EXPECT_THAT(ErrorAfter(Method::kNetwork,
                         [](auto& json) {
                           json["model"]["layers"][1]["bias"] = {1, 2};
                         }),
              HasSubstr("expected 2 times 64"));
  EXPECT_THAT(ErrorAfter(Method::kNetwork,
                         [](auto& json) { json["model"]["layers"].erase(2); }),
              HasSubstr("end in 64 numbers, expected 1"));
}

}  // namespace
}  // namespace foretell::surrogate
