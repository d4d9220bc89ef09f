#include "src/core/json_fields.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/datasets/expect_error.h"

namespace foretell {
namespace {

using dataset_test::ExpectError;

enum class Color { kRed, kBlue };
constexpr NameTable<2> kColors = {"red", "blue"};

struct Part {
  int size = 0;
};

struct Whole {
  std::string name;
  double share = 0;
  Color color = Color::kRed;
  std::vector<int> powers;
  std::vector<Part> parts;
  std::optional<Part> spare;
  std::optional<double> width;
};

void DescribePart(JsonFields& fields, Part& part) {
  fields.Int("size", part.size, 1, 9);
  fields.Require(part.size != 5, "size", "is 5");
}

void DescribeWhole(JsonFields& fields, Whole& whole) {
  fields.Text("name", whole.name);
  fields.Number("share", whole.share, 0, 1);
  fields.Named("color", whole.color, kColors);
  fields.Ints("powers", whole.powers, 0, 3);
  fields.Objects("parts", whole.parts, &DescribePart);
  fields.OptionalObject("spare", whole.spare, &DescribePart);
  if (fields.IsGivenOrNull("width", whole.width.has_value())) {
    if (!whole.width) whole.width.emplace();
    fields.Number("width", *whole.width, 0, 1);
  }
}

constexpr char kWhole[] =
    R"({"name":"a","share":0.5,"color":"blue","powers":[1,2],)"
    R"("parts":[{"size":1},{"size":9}],"spare":{"size":3},"width":0.25})";

Whole Read(const std::string& text) {
  const nlohmann::json document = nlohmann::json::parse(text);
  JsonObject object(document, "w.json", "");
  JsonFields fields(object);
  Whole whole;
  DescribeWhole(fields, whole);
  object.Finish();
  return whole;
}

std::string Write(Whole whole) {
  nlohmann::ordered_json json;
  JsonFields fields(json);
  DescribeWhole(fields, whole);
  return json.dump();
}

TEST(JsonFields, WritesWhatItReads) {
  const Whole whole = Read(kWhole);
  EXPECT_EQ(whole.color, Color::kBlue);
  EXPECT_EQ(whole.powers, (std::vector<int>{1, 2}));
  ASSERT_EQ(whole.parts.size(), 2u);
  EXPECT_EQ(whole.parts[1].size, 9);
  EXPECT_EQ(whole.spare->size, 3);
  EXPECT_EQ(whole.width, 0.25);
  EXPECT_EQ(Write(whole), kWhole);
}

TEST(JsonFields, LeavesOutAnObjectThatIsEmpty) {
  Whole whole = Read(kWhole);
  whole.spare.reset();
  whole.width.reset();
  const std::string json = Write(whole);
  EXPECT_EQ(json.find("spare"), std::string::npos);
  EXPECT_NE(json.find("\"width\":null"), std::string::npos);
  EXPECT_FALSE(Read(json).spare);
  EXPECT_FALSE(Read(json).width);
}

/// `from` in the document, once, instead of `to`.
void ExpectRefused(const std::string& from, const std::string& to,
                   const std::string& message) {
  std::string text = kWhole;
  text.replace(text.find(from), from.size(), to);
  ExpectError(ErrorCode::kCorrupt, message, [&] { Read(text); });
}

TEST(JsonFields, NamesTheFieldThatIsWrong) {
  ExpectRefused("0.5", "2", "w.json: share is 2");
  ExpectRefused("blue", "green", "w.json: color is 'green', which is unknown");
  ExpectRefused("\"size\":9", "\"size\":10", "parts[1].size is 10");
  ExpectRefused("\"size\":9", "\"size\":5", "parts[1].size is 5");
  ExpectRefused("\"size\":3", "\"sizes\":3", "spare.size is missing");
  ExpectRefused("\"size\":3", "\"size\":3,\"more\":1", "unknown field");
}

}  // namespace
}  // namespace foretell
