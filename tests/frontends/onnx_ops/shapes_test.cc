// Views, copies, indices and creation: corners and refusals beyond the official
// cases.
#include <ATen/ATen.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "foretell/error.h"
#include "tests/frontends/onnx_ops/node_runner.h"

namespace foretell::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Ints = std::vector<std::int64_t>;

at::Tensor Longs(const Ints& values) { return at::tensor(values, at::kLong); }

/// Error of `run`, whose message must contain `text`.
ErrorCode CodeOf(const std::function<void()>& run, const std::string& text) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(text));
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::kInternal;
}

TEST(ReshapeLowering, CopiesZerosAndInfersMinusOne) {
  const at::Tensor y =
      RunNode({.op_type = "Reshape"}, {at::ones({2, 3, 4}), Longs({0, -1})})[0];
  EXPECT_EQ(y.sizes(), (Ints{2, 12}));
}

TEST(ReshapeLowering, SaysThatTheFileFixesABatch) {
  EXPECT_EQ(CodeOf(
                [] {
                  RunNode({.op_type = "Reshape"},
                          {at::ones({8, 4, 1, 1}), Longs({1, 4})});
                },
                "a tensor of shape [8,4,1,1] cannot be reshaped to [1,4]"),
            ErrorCode::kInvalidArgument);
}

TEST(ReshapeLowering, RefusesAShapeThatOverflows) {
  EXPECT_EQ(CodeOf(
                [] {
                  const std::int64_t huge = std::int64_t{1} << 62;
                  RunNode({.op_type = "Reshape"},
                          {at::ones({4}), Longs({huge, huge})});
                },
                "2^63"),
            ErrorCode::kCorrupt);
}

TEST(EyeLikeLowering, RefusesDiagonalsFarOutside) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t k : {least, least + 1, std::int64_t{-4}}) {
    EXPECT_EQ(CodeOf(
                  [k] {
                    RunNode({.op_type = "EyeLike",
                             .attributes = {IntAttribute("k", k)}},
                            {at::ones({2, 3})});
                  },
                  fmt::format("k is {}", k)),
              ErrorCode::kCorrupt);
  }
}

TEST(SliceLowering, TakesTheFarthestEndsThatExportersWrite) {
  const std::int64_t farthest = std::numeric_limits<std::int64_t>::max();
  const at::Tensor x = at::arange(5);
  EXPECT_TRUE(at::equal(
      RunNode({.op_type = "Slice"}, {x, Longs({-2}), Longs({farthest})})[0],
      Longs({3, 4})));
  EXPECT_TRUE(at::equal(
      RunNode({.op_type = "Slice"}, {x, Longs({farthest}), Longs({-farthest}),
                                     Longs({0}), Longs({-2})})[0],
      Longs({4, 2, 0})));
}

TEST(SliceLowering, OfEverythingIsTheTensorItself) {
  EXPECT_THAT(TraceNode({.op_type = "Slice",
                         .constants = {{1, Longs({0})}, {2, Longs({1000})}}},
                        {{2, 3}}),
              IsEmpty());
}

TEST(SplitLowering, NamesBothSumsWhenTheyDiffer) {
  EXPECT_EQ(CodeOf(
                [] {
                  RunNode({.op_type = "Split", .num_outputs = 2},
                          {at::ones({5}), Longs({2, 2})});
                },
                "2 parts of 4 elements, expected 2 parts of 5"),
            ErrorCode::kInvalidArgument);
}

TEST(SqueezeLowering, RefusesAnAxisThatIsNotOne) {
  EXPECT_EQ(CodeOf(
                [] {
                  RunNode({.op_type = "Squeeze"}, {at::ones({2}), Longs({0})});
                },
                "axis 0 of [2] is not 1"),
            ErrorCode::kInvalidArgument);
}

TEST(PadLowering, ReflectsFartherThanTheAxisIsLong) {
  const NodeCase node{.op_type = "Pad",
                      .attributes = {StringAttribute("mode", "reflect")}};
  EXPECT_TRUE(at::equal(RunNode(node, {at::arange(3), Longs({4, 1})})[0],
                        Longs({0, 1, 2, 1, 0, 1, 2, 1})));
}

TEST(PadLowering, CropsWithNegativePads) {
  EXPECT_TRUE(
      at::equal(RunNode({.op_type = "Pad"}, {at::arange(4), Longs({-1, 2})})[0],
                Longs({1, 2, 3, 0, 0})));
}

TEST(GatherLowering, OfOneKnownPlaceIsAView) {
  EXPECT_THAT(
      TraceNode({.op_type = "Gather",
                 .attributes = {IntAttribute("axis", 1)},
                 .constants = {{1, at::tensor(-1, at::kLong).reshape({})}}},
                {{2, 3}}),
      ElementsAre("select"));
}

TEST(GatherLowering, RefusesAPlaceOutsideTheAxis) {
  EXPECT_EQ(CodeOf(
                [] {
                  RunNode({.op_type = "Gather"}, {at::ones({3}), Longs({3})});
                },
                "index 3 is out of range for an axis of 3"),
            ErrorCode::kInvalidArgument);
}

TEST(ScatterLowering, ReducesAtTuples) {
  const NodeCase node{.op_type = "ScatterND",
                      .attributes = {StringAttribute("reduction", "max")}};
  const at::Tensor tuples = Longs({0, 1, 0, -1}).reshape({2, 2});
  EXPECT_TRUE(at::equal(
      RunNode(node, {at::zeros({2, 2}, at::kLong), tuples, Longs({-5, 7})})[0],
      Longs({0, 7, 0, 0}).reshape({2, 2})));
}

TEST(DropoutLowering, IsNothingWithoutTraining) {
  EXPECT_THAT(TraceNode({.op_type = "Dropout"}, {{2, 3}}), IsEmpty());
}

TEST(ConstantOfShapeLowering, RefusesAbsurdSizes) {
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(
      CodeOf(
          [&] {
            RunNode({.op_type = "ConstantOfShape"}, {Longs({huge, huge})});
          },
          "elements"),
      ErrorCode::kUnsupported);
}

TEST(CastLowering, ToItsOwnTypeIsTheTensorItself) {
  EXPECT_THAT(TraceNode({.op_type = "Cast",
                         .attributes = {IntAttribute("to", kOnnxFloat)}},
                        {{2, 3}}),
              IsEmpty());
}

}  // namespace
}  // namespace foretell::onnx
