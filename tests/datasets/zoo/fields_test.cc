#include "datasets/zoo/fields.h"

#include "tests/graph/expect_error.h"

namespace foretell::zoo {
namespace {

using testing::ElementsAre;
using testing::Pair;

/// Reads `text` as the type of `value` and writes it again.
std::string RoundTrip(FieldValue value, std::string_view text) {
  ParseValue("field", text, value);
  return FormatValue(value);
}

TEST(Fields, ReadWhatTheyWrite) {
  EXPECT_EQ(RoundTrip(false, "true"), "true");
  EXPECT_EQ(RoundTrip(std::int64_t{0}, "1000000"), "1000000");
  EXPECT_EQ(RoundTrip(0.0, "0.350"), "0.35");
  EXPECT_EQ(RoundTrip(0.0, "1e-6"), "1e-06");
  EXPECT_EQ(RoundTrip(std::vector<std::int64_t>{}, "3,4,6,3"), "3,4,6,3");
  EXPECT_EQ(RoundTrip(std::vector<std::int64_t>{7}, ""), "");
  EXPECT_EQ(RoundTrip(std::string(), "lstm"), "lstm");
}

struct BadValue {
  FieldValue type;
  const char* text;
  const char* expected;
};

TEST(Fields, RefuseBadValuesWithTheTypeThatTheyExpect) {
  const std::vector<std::int64_t> list;
  const BadValue bad_values[] = {
      {false, "yes", "depth=yes: expected true or false"},
      {std::int64_t{1}, "ten", "depth=ten: expected integers"},
      {std::int64_t{1}, "-1", "from 0 to 1048576"},
      {std::int64_t{1}, "1048577", "from 0 to 1048576"},
      {std::int64_t{1}, "1.5", "expected integers"},
      {std::int64_t{1}, "", "expected integers"},
      {1.0, "nan", "expected a number"},
      {1.0, "1e7", "at most 1048576"},
      {1.0, "0.5x", "expected a number"},
      {list, "1,,2", "expected integers"},
      {list, "1,2,", "expected integers"},
  };
  for (const BadValue& bad : bad_values) {
    SCOPED_TRACE(bad.text);
    FieldValue value = bad.type;
    ExpectError([&] { ParseValue("depth", bad.text, value); },
                ErrorCode::kInvalidArgument, bad.expected);
  }
}

TEST(Fields, LimitTheLengthOfLists) {
  std::string text = "1";
  for (int i = 0; i < 1000; ++i) text += ",1";
  FieldValue value = std::vector<std::int64_t>{};
  ExpectError([&] { ParseValue("layers", text, value); },
              ErrorCode::kInvalidArgument, "at most 1000 numbers");
}

TEST(Fields, SplitChangesAtTheFirstEqualsSign) {
  EXPECT_THAT(ParseChanges("layers=2,2&cell=a=b&name="),
              ElementsAre(Pair("layers", "2,2"), Pair("cell", "a=b"),
                          Pair("name", "")));
  EXPECT_THAT(ParseChanges(""), ElementsAre());
}

TEST(Fields, RefuseChangesWithoutFieldOrValue) {
  for (const char* text : {"width", "=3", "width=1&", "&width=1"}) {
    SCOPED_TRACE(text);
    ExpectError([&] { ParseChanges(text); }, ErrorCode::kInvalidArgument,
                "expected field=value");
  }
}

TEST(Fields, RefuseTwoValuesOfOneField) {
  ExpectError([] { ParseChanges("width=64&layers=2&width=32"); },
              ErrorCode::kInvalidArgument,
              "width=64 and width=32: one of the two");
}

struct ThreeFields {
  bool is_wide = false;
  std::int64_t depth = 2;
  std::string cell = "lstm";

  FORETELL_FIELDS(is_wide, depth,
                  // Over lines.
                  cell)
};

TEST(Fields, AreNamedAsTheirMembersInTheirOrder) {
  ThreeFields config;
  SetField(config, "cell", "gru");
  EXPECT_THAT(FieldsOf(config), ElementsAre(Field{"is_wide", false},
                                            Field{"depth", std::int64_t{2}},
                                            Field{"cell", std::string("gru")}));
}

}  // namespace
}  // namespace foretell::zoo
