#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "foretell/graph_io.h"
#include "src/graph/parse_watched.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

struct BadText {
  const char* text;
  const char* message;
};

constexpr BadText kBadTexts[] = {
    {"%x = input f32[8,", "g:1:18: expected a size, found the end of the text"},
    {"%x = input f33[8]", "g:1:12: unknown element type 'f33'"},
    {"%x = input f32[-8]", "g:1:19: tensor has a negative size: f32[-8]"},
    {"%x = input f32[99999999999999999999]", "g:1:16: expected a size"},
    {"%x = input f32[4611686018427387904]",
     "f32[4611686018427387904] has more than 2^56 elements"},
    {"%x = magic f32[8]", "g:1:6: unknown role 'magic'"},
    {"%x = input f32[8] f32[8]",
     "g:1:19: expected the end of the line, found \"f32[8]\""},
    {"%x = input f32[8]\n%x = input f32[8]", "two tensors are called 'x'"},
    {"%x, %y = input f32[8]", "a source defines one tensor, found 2 names"},
    {"%x = input f32[8] alias %y",
     "g:1:25: tensor 'y' is not defined before this use"},
    {"%w = weight f32[8]\n%x = input f32[8] alias %w",
     "'x' is input, but its storage belongs to parameter"},
    {"%x = input f32[8] bytes=-1", "has -1 bytes"},
    {"%x = input f32[8] strides=[]", "g:1:28: strides are empty"},
    {"%x = input f32[] strides=[1]", "'x' has 1 strides, its rank is 0"},
    {"%x = input f32[2,8] strides=[1]", "'x' has 1 strides, its rank is 2"},
    {"%x = input f32[2,8] strides=[-1, 2]",
     "g:1:36: tensor 'x': f32[2,8] has strides [-1, 2], expected strides >= 0"},
    {"%x = input f32[2,8] strides=[1, 4611686018427387904]",
     "span at most 2^56 elements"},
    {"%x = input f32[8] strides=2", "expected '[', found \"2\""},
    {"%x = input f32[8] bytes=32 strides=[2]", "expected the end of the line"},
    {"% = input f32[8]", "g:1:1: a tensor has no name after '%'"},
    {"%\"x = input f32[8]", "a string is not closed on its line"},
    {"%\"\\q\" = input f32[8]", "unknown escape"},
    {"%\"\\xg0\" = input f32[8]", "unknown escape"},
    {"%a = relu(%b) : f32[8]",
     "g:1:11: tensor 'b' is not defined before this use"},
    {"%a = relu(%a) : f32[8]", "tensor 'a' is not defined"},
    {"%a = relu(%\"b\\n\") : f32[8]", "tensor 'b\\x0a' is not defined"},
    {"%a = zeros()", "g:1:13: expected ':', found the end of the text"},
    {"%a, %b = zeros() : f32[8]", "expected ',', found the end of the text"},
    {"%a = zeros() : f32[8], f32[8]", "expected the end of the line"},
    {"zeros() : f32[8]", "expected the end of the line, found \": f32[8]\""},
    {"f() {x}", "g:1:7: expected '=', found \"}\""},
    {"f() {x=}", "g:1:8: expected a value, found \"}\""},
    {"f() {x=1e999}", "'1e999' is not a number in range"},
    {"f() {x=99999999999999999999x}", "is not a number in range"},
    {"f() {x=[[1]]}", "expected a value, found \"[1]]}\""},
    {"f() @ scope", "expected '\"', found \"scope\""},
    {"graph batch=x", "expected the batch size, found \"x\""},
    {"graph batch=-1", "the batch is -1"},
    {"graph mode=dreaming", "unknown mode 'dreaming'"},
    {"graph precision=fp3", "unknown precision 'fp3'"},
    {"graph autocast=f17", "unknown type 'f17'"},
    {"graph autocast=f32", "autocast is to f32, expected f16 or bf16"},
    {"graph channels_last=off", "unknown format 'off'"},
    {"graph colour=red", "unknown key 'colour'"},
    {"graph parameters=-4", "parameter elements is -4"},
    {"phase sideways", "unknown phase 'sideways'"},
    {"output %x", "tensor 'x' is not defined"},
    {"inputs %x", "tensor 'x' is not defined"},
    {"%x = input f32[8]\ninputs %x, %x", "input 'x' is marked twice"},
    {"hello", "g:1:1: expected a statement, found \"hello\""},
    {"timeline\nhello", "g:2:1: expected 'start', 'scratch' or a node"},
    {"timeline\n0: +s0", "g:2:1: node 0 does not exist, the graph has 0"},
    {"timeline\nstart: +s0", "scratch storage 's0' is not defined"},
    {"timeline\nstart: *s0", "expected '-', found \"*s0\""},
    {"timeline\nscratch s0 activation\nscratch s0 activation",
     "two storages are called 's0'"},
    {"timeline\nscratch s0 nothing", "unknown role 'nothing'"},
    {"%x = input f32[8]\ntimeline", "storage 0 ('x') is never allocated"},
    {"%x = input f32[8]\ntimeline\nstart: +%x +%x", "is allocated twice"},
    {"f()\ng()\ntimeline\nscratch s activation\n1: +s\n0: -s",
     "event 1: at node 0 comes after one at node 1"},
    {"\"\"()", "node 0 has no operator name"},
    {"| f()", "g:1:1: a call without a node above it"},
    {"f()\n| %x = g()", "g:2:11: expected ':', found the end of the text"},
    {"f()\n| %x = inner", "expected an element type"},
    {"f()\n| g(%x)", "tensor 'x' is not defined before this use"},
    {"f()\n| \"\"()", "node 0 (f): call 0 has no operator name"},
    {"%y = f() : f32[1]\n%z = g() : f32[1]\n| %y = h()",
     "node 1 (g): call 0 (h): 'y' is not a tensor of that node"},
    {"%x = input f32[2]\nf()\n| h(%x)\n"
     "| %z = transpose(%x) {dim0=0, dim1=7} : f32[2]",
     "node 0 (f): call 1 (transpose): dim1 is 7"},
};

TEST(GraphText, RefusesMistakesWithTheirPlace) {
  for (const BadText& bad : kBadTexts) {
    SCOPED_TRACE(bad.text);
    ExpectError([&] { ParseGraph(bad.text, "g"); }, ErrorCode::kCorrupt,
                bad.message);
  }
}

TEST(GraphText, RefusesARankAbove64) {
  std::string shape = "1";
  for (int i = 0; i < 64; ++i) shape += ",1";
  ExpectError([&] { ParseGraph("%x = input f32[" + shape + "]"); },
              ErrorCode::kCorrupt, "rank 65, at most 64");
}

TEST(GraphText, RefusesAListOfAMillionNumbers) {
  std::string list = "1";
  for (int i = 0; i < 1 << 20; ++i) list += ",1";
  ExpectError([&] { ParseGraph("f() {x=[" + list + "]}"); },
              ErrorCode::kCorrupt, "more than 1048576 numbers");
}

TEST(ParseGraphWatched, AsksAgainAndAgain) {
  const std::string text = std::string(1'000'000, '\n') + "f()";
  int asked = 0;
  EXPECT_EQ(ParseGraphWatched(text, "g", [&] { ++asked; }).nodes().size(), 1u);
  EXPECT_GE(asked, 2);
  std::string long_line = "f() {x=[1";
  for (int i = 0; i < 200'000; ++i) long_line += ",1";
  struct Enough {};
  asked = 0;
  const auto stop = [&] {
    if (++asked == 3) throw Enough();
  };
  EXPECT_THROW(ParseGraphWatched(long_line + "]}", "g", stop), Enough);
}

/// Parses a text that may be wrong; true unless it was refused with a place.
bool ParsesOrRefuses(const std::string& text) {
  try {
    ParseGraph(text, "broken");
    return true;
  } catch (const Error& error) {
    return error.code() == ErrorCode::kCorrupt &&
           std::string(error.what()).starts_with("broken:");
  }
}

std::string Sample() {
  std::ifstream file(FORETELL_SOURCE_DIR "/tests/golden/graph/training.graph");
  std::stringstream text;
  text << file.rdbuf();
  return PrintGraph(ParseGraph(text.str()), {.with_timeline = true});
}

TEST(GraphText, SurvivesEveryTruncation) {
  const std::string sample = Sample();
  ASSERT_GT(sample.size(), 500u);
  for (std::size_t size = 0; size < sample.size(); ++size) {
    EXPECT_TRUE(ParsesOrRefuses(sample.substr(0, size))) << size;
  }
}

TEST(GraphText, SurvivesEveryFlippedBit) {
  const std::string sample = Sample();
  for (std::size_t bit = 0; bit < sample.size() * 8; ++bit) {
    std::string flipped = sample;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(ParsesOrRefuses(flipped)) << bit;
  }
}

TEST(GraphText, RefusesTenThousandOpenBrackets) {
  for (const char bracket : {'(', '[', '{', '"', '%'}) {
    const std::string run(10000, bracket);
    EXPECT_TRUE(ParsesOrRefuses("f" + run));
    EXPECT_TRUE(ParsesOrRefuses("f() {x=" + run));
    EXPECT_TRUE(ParsesOrRefuses("%x = input f32" + run));
  }
}

}  // namespace
}  // namespace foretell
