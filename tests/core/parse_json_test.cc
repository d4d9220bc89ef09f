#include "src/core/parse_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

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

TEST(ParseJson, SaysWhereATextIsNoDocumentAndWhatWasExpected) {
  struct Case {
    std::string text;
    std::string problem;
  };
  const Case cases[] = {
      {"", "line 1, column 1: found the end of the text, expected a value"},
      {"{\n",
       "line 2, column 1: found the end of the text, expected a "
       "field's name in quotes or '}'"},
      {"{\"a\": [1, 2\n", "found the end of the text, expected ',' or ']'"},
      {"{} 1", "line 1, column 4: found '1', expected the end of the text"},
      {"[NaN]", "line 1, column 2: found 'NaN', expected a value or ']'"},
      {"{\"größe\": nope}",
       "line 1, column 11: found 'nope', expected a value"},
      {"{\"a\" 1}", "line 1, column 6: found '1', expected ':'"},
      {"{\"a\": 1 \"b\": 2}",
       "line 1, column 9: found '\"b\"', expected ',' or '}'"},
      {R"({"a": 1 "b\\"})",
       R"(line 1, column 9: found '"b\\"', expected ',' or '}')"},
      {R"({"\\": 1 "c\"d"})",
       R"(line 1, column 10: found '"c\"d"', expected ',' or '}')"},
      {"{\"a\": \"x, {\",}", "found '}', expected a field's name in quotes"},
      {"{a: 1}",
       "line 1, column 2: found 'a', expected a field's name in "
       "quotes or '}'"},
      {"[1, ]", "line 1, column 5: found ']', expected a value"},
      {"[-]", "line 1, column 2: found '-', expected a value or ']'"},
      {"tru", "line 1, column 1: found 'tru', expected a value"},
      {"[1e999]",
       "line 1, column 2: found '1e999', expected a number that "
       "fits 64 bits"},
      {"[\"\xff\"]", "line 1, column 3: a string that is not valid: "},
      {"[\"a]", "a string that is not valid: missing closing quote"},
      {std::string("{} \0[", 5),
       "line 1, column 4: found '\\x00', expected the end of the text"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    ExpectRefused(one.text, "");
    try {
      ParseJson(one.text, "a.json");
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(one.problem));
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("json.exc")));
    }
  }
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

TEST(ParseJson, CountsWhatItDropsAndKeepsNothingOfIt) {
  const std::array<std::string_view, 2> dropped = {"trace", "custom"};
  const JsonLimits limits = {.levels = 3, .values = 9, .dropped = dropped};
  const nlohmann::json kept = ParseJson(
      R"({"trace": [{"trace": 1, "x": [2]}], "x": {"custom": 3, "y": 4},
                    "custom": {}})",
      "a.json", {.levels = 4, .dropped = dropped});
  EXPECT_EQ(kept, nlohmann::json::parse(R"({"x": {"y": 4}})"));
  const auto refuse = [&](const std::string& text, const std::string& problem) {
    ExpectError([&] { ParseJson(text, "a.json", limits); }, ErrorCode::kCorrupt,
                problem);
  };
  refuse(R"({"trace": [[[]]]})", "nested deeper than 3 levels");
  refuse(R"({"trace": [1, 2, 3, 4, 5, 6, 7, 8]})", "more than 9 values");
}

TEST(ShowJson, IsShortAndAscii) {
  EXPECT_EQ(ShowJson(nlohmann::json::parse("[1, \"größe\"]")),
            R"([1,"gr\u00f6\u00dfe"])");
  EXPECT_EQ(ShowJson(nlohmann::json(std::string(100, 'x'))),
            "\"" + std::string(59, 'x') + "...");
}

}  // namespace
}  // namespace foretell
