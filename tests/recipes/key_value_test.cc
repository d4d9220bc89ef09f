#include "src/recipes/key_value.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "foretell/error.h"

namespace foretell::recipes {
namespace {

using nlohmann::json;

std::string Text(Kind kind, std::string_view values, const json& value) {
  return ConvertValue({"k", Setting::kModel, kind, values}, value, "f: k").text;
}

std::string ErrorOf(Kind kind, std::string_view values, const json& value) {
  try {
    Text(kind, values, value);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Matches, TakesStarsForAnyText) {
  EXPECT_TRUE(Matches("a*c*", "abcd"));
  EXPECT_TRUE(Matches("*.qlora_*", "torchtune.models.qlora_llama3_8b"));
  EXPECT_TRUE(Matches("*", ""));
  EXPECT_FALSE(Matches("*.lora_*", "torchtune.models.qlora_llama3_8b"));
  EXPECT_FALSE(Matches("a*b", "abc"));
}

TEST(ConvertValue, ReadsCounts) {
  EXPECT_EQ(Text(Kind::kCount, "", 8), "8");
  EXPECT_EQ(Text(Kind::kCount, "", 2.0), "2");
  EXPECT_EQ(Text(Kind::kCount, "", "auto"), "");
  EXPECT_EQ(Text(Kind::kCount, "-1=", -1), "");
  EXPECT_EQ(ErrorOf(Kind::kCount, "", 0),
            "f: k is 0, expected a whole number from 1");
  EXPECT_EQ(ErrorOf(Kind::kCount, "", 1e300),
            "f: k is 1e+300, expected a whole number from 1");
  EXPECT_EQ(ErrorOf(Kind::kCount, "", json::array({1})),
            "f: k is [1], expected a whole number from 1");
}

TEST(ConvertValue, ConvertsWordsInOrder) {
  EXPECT_EQ(Text(Kind::kFlag, "true=bf16 false=", true), "bf16");
  EXPECT_EQ(Text(Kind::kFlag, "", false), "");
  EXPECT_EQ(Text(Kind::kText, "a=b *=*", "c"), "c");
  EXPECT_EQ(Text(Kind::kComponent, "llama3_8b=x", "t.m.qlora_llama3_8b"), "x");
  EXPECT_EQ(
      Text(Kind::kWords, "full_shard=fsdp auto_wrap=", "full_shard auto_wrap"),
      "fsdp");
  EXPECT_EQ(ErrorOf(Kind::kText, "4=4 8=8", 3), "f: k is \"3\", expected 4, 8");
  EXPECT_EQ(ErrorOf(Kind::kFlag, "", "yes"),
            "f: k is \"yes\", expected true or false");
}

TEST(ConvertValue, LeavesOutWhatItTakesInPart) {
  const KeyValue value = ConvertValue(
      {"k", Setting::kModel, Kind::kText, "a=b? c=?"}, "a", "f: k");
  EXPECT_EQ(value.text, "b");
  EXPECT_TRUE(value.is_left_out);
  EXPECT_EQ(Text(Kind::kText, "a=b? c=?", "c"), "");
}

TEST(ConvertValue, ReadsModules) {
  EXPECT_EQ(Text(Kind::kNames, "", "q_proj, v_proj"), "q_proj|v_proj");
  EXPECT_EQ(Text(Kind::kModules, "", json::array({"q", "a.b"})), "q|a\\.b");
  EXPECT_EQ(Text(Kind::kModules, "", "all-linear"), "all");
  EXPECT_EQ(Text(Kind::kModules, "", ".*attn.*"), "^(?:.*attn.*)\\.");
  EXPECT_EQ(ErrorOf(Kind::kNames, "", json::array({json::object()})),
            "f: k is {}, expected names");
}

}  // namespace
}  // namespace foretell::recipes
