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
  std::optional<Part> lid;
  std::optional<double> width;
  bool is_new = false;
  std::optional<int> year;
  int age = 7;
  std::string note;
};

std::string_view PartName(const int& size) { return size == 1 ? "s" : "l"; }
std::optional<int> ParsePart(std::string_view name) {
  if (name != "s" && name != "l") return std::nullopt;
  return name == "s" ? 1 : 9;
}

void DescribePart(JsonFields& fields, Part& part) {
  fields.Int("size", part.size, 1, 9);
  fields.Require(part.size != 5, "size", "is 5");
}

void DescribeWhole(JsonFields& fields, Whole& whole) {
  fields.SchemaVersion(3);
  fields.Text("name", whole.name);
  fields.Number("share", whole.share, 0, 1);
  fields.Named("color", whole.color, kColors);
  fields.Ints("powers", whole.powers, 0, 3);
  fields.Objects("parts", whole.parts, &DescribePart);
  fields.OptionalObject("spare", whole.spare, &DescribePart);
  fields.ObjectOrNull("lid", whole.lid, &DescribePart);
  fields.NumberOrNull("width", whole.width, 0, 1);
  fields.Value("is_new", whole.is_new);
  fields.Optional("year", whole.year);
  fields.Optional("age", whole.age);
  fields.TextOrNull("note", whole.note);
  fields.Derived("count", [&] { return whole.parts.size(); });
  fields.Named("first", whole.parts.front().size, &PartName, &ParsePart);
}

constexpr char kWhole[] =
    R"({"schema_version":3,"name":"a","share":0.5,"color":"blue",)"
    R"("powers":[1,2],"parts":[{"size":1},{"size":9}],"spare":{"size":3},)"
    R"("lid":{"size":2},"width":0.25,"is_new":true,"year":2024,"age":4,)"
    R"("note":"n","count":2,"first":"s"})";

Whole Read(const std::string& text) {
  const nlohmann::json document = nlohmann::json::parse(text);
  return ReadFields<Whole>(JsonObject(document, "w.json", ""), &DescribeWhole);
}

std::string Write(const Whole& whole) {
  return WriteFields(whole, &DescribeWhole).dump();
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

TEST(JsonFields, LeavesOutOrWritesNullForWhatIsEmpty) {
  Whole whole = Read(kWhole);
  whole.spare.reset();
  whole.lid.reset();
  whole.width.reset();
  whole.year.reset();
  whole.note.clear();
  const std::string json = Write(whole);
  EXPECT_EQ(json.find("spare"), std::string::npos);
  for (const char* key : {"lid", "width", "year", "note"}) {
    const std::string null = "\"" + std::string(key) + "\":null";
    EXPECT_NE(json.find(null), std::string::npos) << json;
  }
  EXPECT_EQ(Write(Read(json)), json);
}

/// `from` in the document, once, instead of `to`.
void ExpectRefused(const std::string& from, const std::string& to,
                   const std::string& message) {
  std::string text = kWhole;
  text.replace(text.find(from), from.size(), to);
  ExpectError(ErrorCode::kCorrupt, message, [&] { Read(text); });
}

TEST(JsonFields, KeepsTheValueOfAnOptionalFieldThatIsMissingOrNull) {
  for (const char* age : {"", "\"age\":null,"}) {
    std::string text = kWhole;
    EXPECT_EQ(Read(text.replace(text.find("\"age\":4,"), 8, age)).age, 7);
  }
}

TEST(JsonFields, RefusesAnotherSchema) {
  std::string text = kWhole;
  text.replace(text.find(":3"), 2, ":4");
  ExpectError(ErrorCode::kUnsupported,
              "w.json: schema_version is 4, expected 3", [&] { Read(text); });
}

TEST(JsonFields, NamesTheFieldThatIsWrong) {
  ExpectRefused("0.5", "2", "w.json: share is 2");
  ExpectRefused("blue", "green", "w.json: color is 'green', which is unknown");
  ExpectRefused("\"size\":9", "\"size\":10", "parts[1].size is 10");
  ExpectRefused("\"size\":9", "\"size\":5", "parts[1].size is 5");
  ExpectRefused("\"size\":3", "\"sizes\":3", "spare.size is missing");
  ExpectRefused("\"size\":3", "\"size\":3,\"more\":1", "unknown field");
  ExpectRefused("\"s\"", "\"xl\"", "first is 'xl', which is unknown");
  ExpectRefused("true", "1", "is_new is 1, expected true or false");
  ExpectRefused("2024", "\"now\"", "year is \"now\", expected a whole number");
}

}  // namespace
}  // namespace foretell
