#include "src/core/parse_json.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

void ExpectRefused(const std::string& text, const std::string& problem) {
  ExpectError([&] { ParseJson(text, "a.json"); }, ErrorCode::kCorrupt,
              "a.json: " + problem);
}

std::string Repeated(const std::string& part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

TEST(ParseJson, ReadsEveryKindOfValue) {
  const char* const text =
      R"({"none": null, "on": true, "below": -3, "seed": 18446744073709551615,
          "real": 1.5, "text": "größe", "list": [[], {}, [1, [2]]],
          "map": {"a": {"b": 1}, "c": []}})";
  EXPECT_EQ(ParseJson(text, "a.json"), nlohmann::json::parse(text));
  EXPECT_EQ(ParseJson("7", "a.json"), nlohmann::json(7));
}

TEST(ParseJson, RefusesWhatIsNoDocument) {
  ExpectRefused("{", "[json.exception.parse_error");
  ExpectRefused("", "[json.exception.parse_error");
  ExpectRefused("{} 1", "[json.exception.parse_error");
  ExpectRefused("[NaN]", "[json.exception.parse_error");
  ExpectRefused("[1e999]", "[json.exception.out_of_range");
  ExpectRefused("[\"\xff\"]", "[json.exception.parse_error");
}

TEST(ParseJson, RefusesFieldsGivenTwice) {
  ExpectRefused(R"({"x": 1, "y": {"x": 3}, "x": 2})",
                "field \"x\" is given twice");
}

TEST(ParseJson, RefusesDeepNesting) {
  const std::string open(16, '[');
  const std::string close(16, ']');
  EXPECT_EQ(ParseJson(open + close, "a.json").size(), 1);
  ExpectRefused("[" + open + close + "]", "nested deeper than 16 levels");
  ExpectRefused(Repeated("{\"a\":", 1'000'000), "nested deeper than 16 levels");
}

TEST(ParseJson, RefusesMoreThanAMillionValues) {
  EXPECT_EQ(ParseJson("[" + Repeated("{},", 999'998) + "{}]", "a.json").size(),
            999'999);
  ExpectRefused("[" + Repeated("{},", 999'999) + "{}]",
                "more than 1000000 values");
}

TEST(ShowJson, IsShortAndAscii) {
  EXPECT_EQ(ShowJson(nlohmann::json::parse("[1, \"größe\"]")),
            R"([1,"gr\u00f6\u00dfe"])");
  EXPECT_EQ(ShowJson(nlohmann::json(std::string(100, 'x'))),
            "\"" + std::string(59, 'x') + "...");
}

}  // namespace
}  // namespace foretell
