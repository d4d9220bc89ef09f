// What depends on data runs on the CPU and is refused by name in a trace
// without arithmetic.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/error.h"
#include "tests/frontends/onnx_ops/node_runner.h"

namespace foretell::onnx {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Ints = std::vector<std::int64_t>;

/// A branch that names the outer value `x1` through `op_type`.
Graph Branch(const std::string& op_type) {
  Graph graph;
  graph.nodes = {MakeNode(op_type, {"x1"}, {"result"})};
  graph.outputs = {AnyValue("result")};
  return graph;
}

void ExpectRefusedByName(const NodeCase& node, const std::vector<Ints>& shapes,
                         const std::string& op_type) {
  try {
    TraceNode(node, shapes);
    ADD_FAILURE() << op_type << " was traced";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr(op_type), HasSubstr("depends on data"),
                      HasSubstr("--trace cpu")));
  }
}

TEST(DataDependent, NonZeroIsRefusedInATrace) {
  ExpectRefusedByName({.op_type = "NonZero"}, {{2, 3}}, "NonZero");
}

TEST(DataDependent, NonZeroOfKnownValuesIsNot) {
  const at::Tensor found =
      RunNode({.op_type = "NonZero"}, {at::tensor({0.f, 2.f, 0.f, 3.f})})[0];
  EXPECT_TRUE(at::equal(found, at::tensor(Ints{1, 3}).reshape({1, 2})));
}

TEST(DataDependent, CompressByComputedConditionIsRefusedInATrace) {
  ExpectRefusedByName({.op_type = "Compress"}, {{4}, {4}}, "Compress");
}

TEST(DataDependent, SuppressionIsRefusedInATrace) {
  ExpectRefusedByName({.op_type = "NonMaxSuppression"}, {{1, 6, 4}, {1, 1, 6}},
                      "NonMaxSuppression");
}

TEST(DataDependent, SuppressionKeepsTheBestOfOverlappingBoxes) {
  const at::Tensor boxes =
      at::tensor({0.f, 0.f, 1.f, 1.f, 0.f, .1f, 1.f, 1.1f, 0.f, 5.f, 1.f, 6.f})
          .reshape({1, 3, 4});
  const at::Tensor scores = at::tensor({.5f, .9f, .7f}).reshape({1, 1, 3});
  const at::Tensor kept =
      RunNode({.op_type = "NonMaxSuppression"},
              {boxes, scores, at::tensor(Ints{10}), at::tensor({.5f})})[0];
  EXPECT_TRUE(
      at::equal(kept, at::tensor(Ints{0, 0, 1, 0, 0, 2}).reshape({2, 3})))
      << kept;
}

TEST(DataDependent, IfWithAComputedConditionIsRefusedInATrace) {
  ExpectRefusedByName(
      {.op_type = "If",
       .attributes = {GraphAttribute("then_branch", Branch("Relu")),
                      GraphAttribute("else_branch", Branch("Neg"))},
       .constants = {{1, at::ones({2})}}},
      {{1}}, "If");
}

TEST(DataDependent, LoopStopsWhenItsConditionFails) {
  // v doubles while it stays below the limit.
  Graph body;
  body.inputs = {AnyValue("i"), AnyValue("go"), AnyValue("v"),
                 AnyValue("limit")};
  body.nodes = {MakeNode("Add", {"v", "v"}, {"v2"}),
                MakeNode("Less", {"v2", "limit"}, {"go_on"}),
                MakeNode("Identity", {"limit"}, {"same"})};
  body.outputs = {AnyValue("go_on"), AnyValue("v2"), AnyValue("same"),
                  AnyValue("v2")};
  const NodeCase node{.op_type = "Loop",
                      .attributes = {GraphAttribute("body", body)},
                      .num_outputs = 3};
  const auto y = RunNode(node, {at::Tensor(), at::Tensor(), at::tensor({3.f}),
                                at::tensor({10.f})});
  EXPECT_TRUE(at::equal(y[0], at::tensor({12.f}))) << y[0];
  EXPECT_TRUE(at::equal(y[2], at::tensor({6.f, 12.f}).reshape({2, 1})));
}

TEST(DataDependent, ALoopWithoutEndIsRefused) {
  Graph body;
  body.inputs = {AnyValue("i"), AnyValue("go")};
  body.nodes = {MakeNode("Identity", {"go"}, {"go_on"})};
  body.outputs = {AnyValue("go_on"), AnyValue("i")};
  const NodeCase node{.op_type = "Loop",
                      .attributes = {GraphAttribute("body", body)},
                      .num_outputs = 1};
  try {
    RunNode(node, {at::Tensor(), at::ones({}, at::kBool)});
    FAIL() << "ended";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("iterations"));
  }
}

}  // namespace
}  // namespace foretell::onnx
