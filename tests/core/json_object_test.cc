#include "src/core/json_object.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

/// Expects that `use` of the object in `text` fails with `problem`.
template <typename Use>
void ExpectRefusal(const std::string& text, Use use,
                   const std::string& problem) {
  const nlohmann::json document = ParseJson(text, "a.json");
  JsonObject object(document, "a.json", "net");
  ExpectError([&] { use(object); }, ErrorCode::kCorrupt, problem);
}

TEST(JsonObject, ReadsFieldsOfEveryKind) {
  const nlohmann::json document = ParseJson(
      R"({"text": "", "number": 1.5, "count": -3, "seed": 18446744073709551615,
          "on": true, "shape": [1, 2], "dims": {"seq": 128}})",
      "a.json");
  JsonObject object(document, "a.json", "");
  EXPECT_EQ(object.Get<std::string>("text"), "");
  EXPECT_EQ(object.Get<double>("number"), 1.5);
  EXPECT_EQ(object.Get<int>("count"), -3);
  EXPECT_EQ(object.Get<std::uint64_t>("seed"), UINT64_MAX);
  EXPECT_TRUE(object.Get<bool>("on"));
  EXPECT_EQ(object.Get<std::vector<std::int64_t>>("shape"),
            (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ((object.Get<std::map<std::string, int>>("dims").at("seq")), 128);
  object.Finish();
}

TEST(JsonObject, NamesFileFieldAndBothValues) {
  ExpectRefusal(R"({"x": "1"})", [](JsonObject& o) { o.Get<double>("x"); },
                "a.json: net.x is \"1\", expected a finite number");
  ExpectRefusal(
      R"({"x": 3000000000})", [](JsonObject& o) { o.Get<int>("x"); },
      "a.json: net.x is 3000000000, expected a whole number from -2147483648 "
      "to 2147483647");
  ExpectRefusal(R"({"x": -1})",
                [](JsonObject& o) { o.Get<std::uint64_t>("x"); },
                "a.json: net.x is -1, expected a whole number >= 0");
  ExpectRefusal(R"({"x": {"a": [1, true]}})",
                [](JsonObject& o) {
                  o.Get<std::map<std::string, std::vector<int>>>("x");
                },
                "a.json: net.x.a[1] is true, expected a whole number");
  ExpectRefusal(R"({"x": []})", [](JsonObject& o) { o.Object("x"); },
                "a.json: net.x is [], expected an object");
  ExpectRefusal(R"({})", [](JsonObject& o) { o.Get<bool>("x"); },
                "a.json: net.x is missing");
}

TEST(JsonObject, RefusesFieldsThatNobodyAskedFor) {
  ExpectRefusal(R"({"x": 1, "y": 2})",
                [](JsonObject& o) {
                  o.Get<int>("x");
                  o.Finish();
                },
                "a.json: net unknown field \"y\", expected one of: x");
}

TEST(JsonObject, TakesKnownNamesOnly) {
  const auto parse = [](const std::string& name) {
    return name == "one" ? std::optional(1) : std::nullopt;
  };
  ExpectRefusal(R"({"x": "two"})", [&](JsonObject& o) { o.Named("x", parse); },
                "a.json: net.x is 'two', which is unknown");
  const nlohmann::json document = ParseJson(R"({"x": "one"})", "a.json");
  EXPECT_EQ(JsonObject(document, "a.json", "").Named("x", parse), 1);
}

TEST(JsonObject, IgnoresUnknownFieldsOnRequestInEveryObjectInside) {
  const nlohmann::json document =
      ParseJson(R"({"x": 1, "in": {"y": 2}, "list": [{"z": 3}]})", "a.json");
  JsonObject object(document, "a.json", "", UnknownFields::kIgnored);
  EXPECT_NO_THROW(object.Finish());
  EXPECT_NO_THROW(object.Object("in").Finish());
  EXPECT_NO_THROW(object.Objects("list").front().Finish());
  EXPECT_THROW(JsonObject(document, "a.json", "").Object("in").Finish(), Error);
}

}  // namespace
}  // namespace foretell
