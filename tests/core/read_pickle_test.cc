#include "src/core/read_pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using testing::ElementsAre;
using PlainKind = PlainValue::Kind;

/// A pickle with bytes that are zero.
template <std::size_t kSize>
std::string Bytes(const char (&bytes)[kSize]) {
  return std::string(bytes, kSize - 1);
}

std::string FromHex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::vector<std::int64_t> NumbersOf(const PlainData& data,
                                    std::string_view key) {
  std::vector<std::int64_t> numbers;
  for (const PlainId item : data.Find(data.Root(), key)->items) {
    numbers.push_back(data.values[item].number);
  }
  return numbers;
}

void ExpectPickleRefused(const std::string& rest, const std::string& part,
                   ErrorCode code = ErrorCode::kCorrupt) {
  ExpectError([&] { ReadPickle("\x80\4" + rest, "s.pickle"); }, code,
              "s.pickle: byte " + part);
}

// What Python 3.11 writes for shared = {"line": 7} and {"a": [1, -2, 300,
// 70000, 2**40, -2**40, 2**63 + 5], "t": (1, 2), "one": (9,), "none": None,
// "on": True, "x": 1.5, "s": [shared, shared]}, by protocol 2 and 4.
const std::string kOfPython[] = {
    FromHex(
        "80027d71002858010000006171015d7102284b014afeffffff4d2c014a701101008a06"
        "0000000000018a060000000000ff8a090500000000000080006558010000007471034b"
        "014b0286710458030000006f6e6571054b0985710658040000006e6f6e6571074e5802"
        "0000006f6e7108885801000000787109473ff8000000000000580100000073710a5d71"
        "0b287d710c58040000006c696e65710d4b0773680c65752e"),
    FromHex(
        "8004957c000000000000007d94288c0161945d94284b014afeffffff4d2c014a701101"
        "008a060000000000018a060000000000ff8a09050000000000008000658c0174944b01"
        "4b0286948c036f6e65944b0985948c046e6f6e65944e8c026f6e94888c017894473ff8"
        "0000000000008c0173945d94287d948c046c696e65944b0773680c65752e")};

TEST(ReadPickle, ReadsWhatPythonWrites) {
  for (const std::string& bytes : kOfPython) {
    SCOPED_TRACE(static_cast<int>(bytes[1]));
    EXPECT_TRUE(BeginsLikePickle(bytes));
    const PlainData data = ReadPickle(bytes, "s.pickle");
    EXPECT_THAT(NumbersOf(data, "a"),
                ElementsAre(1, -2, 300, 70000, std::int64_t{1} << 40,
                            -(std::int64_t{1} << 40), INT64_MIN + 5));
    EXPECT_THAT(NumbersOf(data, "t"), ElementsAre(1, 2));
    EXPECT_THAT(NumbersOf(data, "one"), ElementsAre(9));
    EXPECT_EQ(data.Find(data.Root(), "none")->kind, PlainKind::kOther);
    EXPECT_EQ(data.Find(data.Root(), "x")->kind, PlainKind::kOther);
    EXPECT_EQ(data.Find(data.Root(), "y"), nullptr);
    const std::vector<PlainId>& items = data.Find(data.Root(), "s")->items;
    ASSERT_EQ(items.size(), 2u);
    EXPECT_EQ(items[0], items[1]);  // One value in two places.
    EXPECT_EQ(data.Find(data.values[items[0]], "line")->number, 7);
  }
}

TEST(ReadPickle, ReadsOlderInstructionsToo) {
  const std::string bytes = Bytes(
      "\x80\2(U\1a(K\5K\6tT\1\0\0\0b(K\7l20(N1K\1"
      "0d.");
  const PlainData data = ReadPickle(bytes, "s");
  EXPECT_THAT(NumbersOf(data, "a"), ElementsAre(5, 6));
  EXPECT_THAT(NumbersOf(data, "b"), ElementsAre(7));
}

TEST(ReadPickle, RefusesCodeByName) {
  const auto kUnsupported = ErrorCode::kUnsupported;
  ExpectPickleRefused("cos\nsystem\n.", "13: GLOBAL of 'os.system', expected data",
                kUnsupported);
  ExpectPickleRefused("c" + std::string(200, 'a') + "\nb\n.", "206: GLOBAL of 'aaaa",
                kUnsupported);
  ExpectPickleRefused("N)R.", "5: REDUCE, expected data alone", kUnsupported);
  ExpectPickleRefused("\x8c\2os\x8c\6system\x93.", "15: STACK_GLOBAL", kUnsupported);
  ExpectPickleRefused("NNb.", "5: BUILD", kUnsupported);
  ExpectPickleRefused("N)\x81.", "5: NEWOBJ", kUnsupported);
  ExpectPickleRefused("(ios\nsystem\n.", "4: INST", kUnsupported);
  ExpectPickleRefused("\x82\1.", "3: EXT1", kUnsupported);
  ExpectPickleRefused("NQ.", "4: BINPERSID", kUnsupported);
}

TEST(ReadPickle, TakesNoMoreThanIsThere) {
  ExpectPickleRefused("", "2: needs 1 byte, 0 left");
  ExpectPickleRefused(Bytes("X\xff\xff\xff\x7fxy."),
                "7: needs 2147483647 bytes, 3 left");
  ExpectPickleRefused(Bytes("\x8d\xff\xff\xff\xff\xff\xff\xff\xff."),
                "11: needs 18446744073709551615 bytes, 1 left");
  ExpectPickleRefused("\x8a\x0axxxxxxxxxx.", "4: a number of 10 bytes, expected at",
                ErrorCode::kUnsupported);
  ExpectPickleRefused(".", "3: takes a value, none is left");
  ExpectPickleRefused("N(a.", "5: takes a value, none is left");
  ExpectPickleRefused("t.", "3: takes values to a mark, none is left");
  ExpectPickleRefused("K\1Na.", "6: adds items to another kind of value");
  ExpectPickleRefused("}(Nu.", "6: adds items to another kind of value");
  ExpectPickleRefused("]h\1a.", "5: memo number 1, expected less than 0");
  ExpectPickleRefused("\6.", "3: instruction 6 is unknown");
  ExpectError([] { ReadPickle("{}", "s"); }, ErrorCode::kUnsupported,
              "s: byte 1: is not a pickle of protocol 2 to 5");
  ExpectError([] { ReadPickle("\x80\6N.", "s"); }, ErrorCode::kUnsupported,
              "s: byte 2: protocol 6, expected 2 to 5");
}

TEST(ReadPickle, KeepsNothingForAMemoNumberFarAway) {
  ExpectPickleRefused(Bytes("Nr\xff\xff\xff\x7f."),
                "8: memo number 2147483647, expected at most 0");
}

TEST(ReadPickle, DoesNotGrowWithNestingOrSharing) {
  constexpr int kLevels = 200000;
  EXPECT_EQ(ReadPickle("\x80\2" + std::string(kLevels, '(') +
                           std::string(kLevels, 't') + ".",
                       "s")
                .Root()
                .kind,
            PlainKind::kList);
  // Lists of twice the one before: 2^40 items where each was its own.
  std::string doubled = "\x80\4]\x94";
  for (char i = 0; i < 40; ++i) {
    doubled += std::string("]\x94(h") + i + "h" + i + "e";
  }
  EXPECT_LT(ReadPickle(doubled + ".", "s").values.size(), 50u);
  EXPECT_EQ(ReadPickle(Bytes("\x80\2]q\0h\0a."), "s").Root().items.size(), 1u);
}

TEST(PlainDataOf, HoldsTheNumbersTextsAndListsOfADocument) {
  const nlohmann::json json = {{"a", {1, -2}}, {"b", {{"c", "d"}}}, {"x", 1.5}};
  const PlainData data = PlainDataOf(json);
  EXPECT_THAT(NumbersOf(data, "a"), ElementsAre(1, -2));
  EXPECT_EQ(data.Find(*data.Find(data.Root(), "b"), "c")->text, "d");
  EXPECT_EQ(data.Find(data.Root(), "x")->kind, PlainKind::kOther);
}

}  // namespace
}  // namespace foretell
