#include "src/plan/run_block.h"

#include <gtest/gtest.h>

#include "foretell/error.h"
#include "src/core/units.h"
#include "tests/graph/expect_error.h"

namespace foretell::plan {
namespace {

/// Fills and keeps as many MiB as the product of the sizes, until somebody must
/// have looked.
constexpr char kTakesMiB[] =
    "python3 -c 'import math, time; sizes = [{shape}];"
    " bytes_taken = bytearray(b\"x\" * (math.prod(sizes) << 20));"
    " time.sleep(0.5)'";

TEST(MeasurePeak, IsWhatTheCommandTakes) {
  const std::int64_t small = MeasurePeak(kTakesMiB, {1, 1}, 60);
  const std::int64_t large = MeasurePeak(kTakesMiB, {5, 20}, 60);
  // The literal and its copy.
  const auto difference = static_cast<double>(large - small);
  EXPECT_NEAR(difference / static_cast<double>(kMiB), 2 * 99, 2);
}

TEST(MeasurePeak, CountsWhatTheCommandStarts) {
  const std::string command =
      std::string("true {shape}; ") + kTakesMiB + "; true";
  EXPECT_GT(MeasurePeak(command, {50}, 60), 100 * kMiB);
}

TEST(MeasurePeak, SaysWhyACommandFailed) {
  ExpectError(
      [] {
        MeasurePeak(
            "echo one; echo 'ValueError: too thin: {shape}'; echo; "
            "exit 3",
            {8, 9}, 60);
      },
      ErrorCode::kUnsupported,
      "ended with status 3: ValueError: too thin: 8,9");
  ExpectError([] { MeasurePeak("sleep 60; true {shape}", {8}, 0.05); },
              ErrorCode::kUnsupported, "killed at its deadline");
}

TEST(MeasurePeak, NeedsAPlaceForTheShape) {
  ExpectError([] { MeasurePeak("python algo.py", {8}, 60); },
              ErrorCode::kInvalidArgument,
              "command 'python algo.py': has no {shape}");
}

}  // namespace
}  // namespace foretell::plan
