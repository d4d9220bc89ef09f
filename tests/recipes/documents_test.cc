#include "src/recipes/documents.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"

namespace foretell::recipes {
namespace {

using nlohmann::json;

json Yaml(std::string_view text) { return ParseYaml(text, "f.yaml"); }

std::string YamlError(std::string_view text) {
  try {
    Yaml(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    return error.what();
  }
  return "";
}

std::string TomlError(std::string_view text) {
  try {
    ParseToml(text, "f.toml");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Yaml, ResolvesPlainScalars) {
  EXPECT_EQ(Yaml("a: yes\nb: Off\nc: ~\nd:\ne: 1_000\nf: 2e-5\ng: 0.6B\n"
                 "h: 'no'\ni: \"4\"\nj: .5\nk: -1"),
            json::parse(R"({"a": true, "b": false, "c": null, "d": null,
                            "e": 1000, "f": 2e-5, "g": "0.6B", "h": "no",
                            "i": "4", "j": 0.5, "k": -1})"));
}

TEST(Yaml, CopiesAliasesAndMerges) {
  EXPECT_EQ(Yaml("a: &x {p: 1, q: 2}\nb: *x\nc: {<<: *x, q: 3}"),
            json::parse(R"({"a": {"p": 1, "q": 2}, "b": {"p": 1, "q": 2},
                            "c": {"p": 1, "q": 3}})"));
}

TEST(Yaml, RefusesAliasBombsInTime) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += fmt::format("a{0}: &a{0} [", i);
    for (int k = 0; k < 10; ++k) bomb += fmt::format("*a{},", i - 1);
    bomb += "]\n";
  }
  EXPECT_EQ(YamlError(bomb),
            "f.yaml: line 5, column 10: more than 20000 values");
  EXPECT_EQ(YamlError("a: &a [*a]"),
            "f.yaml: line 1, column 8: alias \"a\" before its anchor");
}

TEST(Yaml, RefusesDepthsByAliasesToo) {
  EXPECT_EQ(YamlError(std::string(100'000, '[')),
            "f.yaml: line 1, column 17: nested deeper than 16 levels");
  std::string chain = "a0: &a0 [1]\n";
  for (int i = 1; i < 40; ++i) {
    chain += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  }
  EXPECT_EQ(YamlError(chain),
            "f.yaml: line 16, column 12: nested deeper than 16 levels");
}

TEST(Yaml, RefusesWhatItWouldGuessAt) {
  EXPECT_EQ(YamlError("a: 1\nb: 2\na: 3"),
            "f.yaml: line 3, column 1: key \"a\" is given twice, first as 1");
  EXPECT_EQ(YamlError("a: !!python/object:os.system x"),
            "f.yaml: line 1, column 4: tag "
            "\"tag:yaml.org,2002:python/object:os.system\" is not read");
  EXPECT_EQ(YamlError("[a]: 1"),
            "f.yaml: line 1, column 1: a key that is not a scalar");
  EXPECT_EQ(YamlError("a: 1\n---\nb: 2"),
            "f.yaml: line 2, column 1: a second document, expected one");
  EXPECT_NE(YamlError("a: [1"), "");
  EXPECT_NE(YamlError("a: \xff"), "");
}

TEST(Toml, ReadsTablesAndScalars) {
  EXPECT_EQ(ParseToml("top = 1\n[a]\nname = \"x\"  # note\nlist = [\"p\", "
                      "\"q\"]\nnone = []\n[a.b]\nis = true\n",
                      "f.toml"),
            json::parse(R"({"top": 1, "a": {"name": "x", "list": ["p", "q"],
                            "none": [], "b": {"is": true}}})"));
}

TEST(Toml, RefusesTwoValuesAndOtherText) {
  EXPECT_EQ(TomlError("[a]\nx = 1\ny = 2\nx = 3\n"),
            "f.toml: x is given twice, as 1 and 3");
  EXPECT_EQ(TomlError("[a]\nx = 1\n[b]\ny = 1\n[a.x]\nz = 1\n"),
            "f.toml: x is 1, and a table");
  EXPECT_EQ(TomlError("what is this\n"),
            "f.toml: \"what is this\" is not a key, expected key = value");
}

}  // namespace
}  // namespace foretell::recipes
