#include <gtest/gtest.h>

#include "foretell/plan.h"
#include "src/core/files.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

Footprint Stencil() {
  return {.algorithm = "stencil",
          .dtype = "f32",
          .axes = {"y", "x"},
          .terms = {{8, {1, 1}}, {1e6, {0, 0}}},
          .halo = {1, 2},
          .whole = {"x"},
          .arrays = {{"y", "x"}, {"x"}},
          .error = 0.01,
          .largest_error = 0.02,
          .command = "stencil {shape}",
          .source = "here",
          .runs = {{{8, 16}, 1001024}},
          .failed = {{{800, 16}, "killed"}}};
}

std::string Changed(const std::string& from, const std::string& to) {
  std::string text = FootprintToJson(Stencil());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(FootprintJson, ReadsWhatItWrites) {
  const std::string text = FootprintToJson(Stencil());
  const Footprint read = FootprintFromJson(text, "s.json");
  EXPECT_EQ(FootprintToJson(read), text);
  EXPECT_EQ(FootprintFormula(read), "8*y*x + 1000000");
  const std::int64_t shape[] = {10, 20};
  EXPECT_EQ(PeakBytes(read, shape), 1e6 + 8 * 200);
}

TEST(FootprintJson, IsWrittenAsEarlierVersionsWroteIt) {
  const std::string path =
      FORETELL_SOURCE_DIR "/data/footprints/matmul-f32.json";
  EXPECT_EQ(FootprintToJson(FootprintFromJson(ReadText(path), path)),
            ReadText(path));
}

TEST(FootprintJson, RefusesAnotherSchema) {
  ExpectError(
      [] {
        FootprintFromJson(
            Changed("\"schema_version\": 1", "\"schema_version\": 2"),
            "s.json");
      },
      ErrorCode::kUnsupported, "s.json: schema_version");
}

TEST(FootprintJson, RefusesWhatIsNoFootprint) {
  const auto expect = [](const std::string& from, const std::string& to,
                         const std::string& message) {
    ExpectError([&] { FootprintFromJson(Changed(from, to), "s.json"); },
                ErrorCode::kCorrupt, message);
  };
  expect("\"bytes\": 8.0", "\"bytes\": -8.0", "s.json: terms[0].bytes");
  expect("\"powers\": [\n        1,", "\"powers\": [", "powers has 1 numbers");
  expect("\"whole\": [\n    \"x\"", "\"whole\": [\n    \"z\"",
         "whole names 'z', which is not an axis");
  expect("\"halo\": [\n    1,", "\"halo\": [\n    -1,", "s.json: halo");
  expect("\"dtype\"", "\"colour\"", "s.json: dtype");
}

}  // namespace
}  // namespace foretell
