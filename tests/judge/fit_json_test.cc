#include "src/judge/fit_json.h"

#include <gtest/gtest.h>

#include <vector>

namespace foretell {
namespace {

TEST(FitJson, SaysHowAModelFitsAndWhetherThatIsAccepted) {
  FitVerdict verdict;
  verdict.fits = true;
  verdict.fit = mig::Fit::kFitsWithoutCache;
  verdict.checks = {{.what = "memory at most",
                     .value = 5000.123456,
                     .least = 4000,
                     .limit = 4864,
                     .unit = "MiB",
                     .fit = mig::Fit::kFitsWithoutCache,
                     .within = true}};
  const std::vector<JudgedModel> judged = {
      {"a.onnx", "a100 1g.5gb", verdict, {"batch norms are folded"}}};
  const std::vector<ReportError> errors = {
      {"b.onnx", ErrorCode::kCorrupt, "broken"}};
  const nlohmann::ordered_json json = FitsToJson(judged, errors);
  const nlohmann::ordered_json& result = json["results"].at(0);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(result["model"], "a.onnx");
  EXPECT_EQ(result["place"], "a100 1g.5gb");
  EXPECT_EQ(result["fit"], "fits when PyTorch empties its cache");
  EXPECT_EQ(result["accepted"], true);
  EXPECT_EQ(result["checks"].at(0)["value"], 5000.12);
  EXPECT_EQ(result["checks"].at(0)["least"], 4000);
  EXPECT_EQ(result["checks"].at(0)["within"], true);
  EXPECT_EQ(result["warnings"].at(0), "batch norms are folded");
  EXPECT_EQ(json["errors"].at(0)["message"], "broken");
}

TEST(FitJson, SaysWhetherTheLimitEndedTheSearch) {
  const auto is_limit = [](std::int64_t batch) {
    const std::vector<LargestBatchOfModel> found = {
        {.model = "a.onnx", .place = "a100", .batch = batch, .most = 64}};
    return LargestBatchesToJson(found, {})["results"].at(0)["is_limit"];
  };
  EXPECT_EQ(is_limit(64), true);
  EXPECT_EQ(is_limit(63), false);
}

TEST(FitJson, SaysWhichBatchLikelyFits) {
  const std::vector<LargestBatchOfModel> found = {{.model = "a.onnx",
                                                   .batch = 155,
                                                   .likely_batch = 193,
                                                   .most = 999,
                                                   .warnings = {"a doubt"}}};
  const nlohmann::ordered_json json = LargestBatchesToJson(found, {});
  EXPECT_EQ(json["results"].at(0)["batch"], 155);
  EXPECT_EQ(json["results"].at(0)["likely_batch"], 193);
  EXPECT_EQ(json["results"].at(0)["warnings"].at(0), "a doubt");
}

}  // namespace
}  // namespace foretell
