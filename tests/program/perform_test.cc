#include "src/program/perform.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "foretell/trace.h"
#include "src/program/meta/meta_kernels.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

c10::OperatorHandle FindOperator(const char* name, const char* overload) {
  InitializeTracing();
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

at::Tensor OnMeta(at::IntArrayRef shape, at::ScalarType type = at::kFloat) {
  return at::empty(shape, at::TensorOptions(type).device(at::kMeta));
}

c10::IValue Indices(const at::Tensor& index) {
  c10::List<std::optional<at::Tensor>> list;
  list.push_back(index);
  return list;
}

TEST(DependsOnData, AMaskDoesAndAnIndexDoesNot) {
  const auto index = FindOperator("aten::index", "Tensor");
  EXPECT_TRUE(
      DependsOnData(index, {OnMeta({4}), Indices(OnMeta({4}, at::kBool))}));
  EXPECT_TRUE(
      DependsOnData(index, {OnMeta({4}), Indices(OnMeta({4}, at::kByte))}));
  EXPECT_FALSE(
      DependsOnData(index, {OnMeta({4}), Indices(OnMeta({4}, at::kLong))}));
}

TEST(DependsOnData, PackingDoesUnlessItsLengthsAreOnTheHost) {
  const auto pack = FindOperator("aten::_pack_padded_sequence", "");
  EXPECT_TRUE(
      DependsOnData(pack, {OnMeta({4, 2}), OnMeta({4}, at::kLong), true}));
  EXPECT_FALSE(
      DependsOnData(pack, {OnMeta({4, 2}), at::ones({4}, at::kLong), true}));
}

TEST(DependsOnData, RepeatsByTensorDoUnlessTheSizeIsGiven) {
  const auto by_tensor = FindOperator("aten::repeat_interleave", "self_Tensor");
  const at::Tensor repeats = OnMeta({4}, at::kLong);
  EXPECT_TRUE(DependsOnData(by_tensor, {OnMeta({4}), repeats, 0, {}}));
  EXPECT_FALSE(DependsOnData(by_tensor, {OnMeta({4}), repeats, 0, 9}));
  const auto by_int = FindOperator("aten::repeat_interleave", "self_int");
  EXPECT_FALSE(DependsOnData(by_int, {OnMeta({4}), 2, 0, {}}));
}

TEST(DependsOnData, SplittingAtATensorDoes) {
  EXPECT_TRUE(DependsOnData(
      FindOperator("aten::tensor_split", "tensor_indices_or_sections"),
      {OnMeta({4}), OnMeta({1}, at::kLong), 0}));
  EXPECT_FALSE(DependsOnData(FindOperator("aten::tensor_split", "sections"),
                             {OnMeta({4}), 2, 0}));
}

TEST(DependsOnData, WhereWithOneArgumentIsNonzero) {
  EXPECT_TRUE(
      DependsOnData(FindOperator("aten::where", ""), {OnMeta({4}, at::kBool)}));
  EXPECT_FALSE(
      DependsOnData(FindOperator("aten::where", "self"),
                    {OnMeta({4}, at::kBool), OnMeta({4}), OnMeta({4})}));
}

TEST(PerformOnCpuForShapes, ReturnsMetaTensorsOfTheRightShapes) {
  torch::jit::Stack stack = {OnMeta({2, 3}), 1, true};
  PerformOnCpuForShapes(FindOperator("aten::argmax", ""), stack);
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_TRUE(stack[0].toTensor().is_meta());
  EXPECT_EQ(stack[0].toTensor().sizes(), at::IntArrayRef({2, 1}));
  EXPECT_EQ(stack[0].toTensor().scalar_type(), at::kLong);
}

TEST(PerformOnCpuForShapes, TakesListsAndDevices) {
  c10::List<at::Tensor> list;
  list.push_back(OnMeta({2, 3}));
  list.push_back(OnMeta({4, 3}));
  torch::jit::Stack cat = {list, 0};
  PerformOnCpuForShapes(FindOperator("aten::cat", ""), cat);
  EXPECT_EQ(cat[0].toTensor().sizes(), at::IntArrayRef({6, 3}));

  torch::jit::Stack index = {OnMeta({5, 3}), Indices(OnMeta({2}, at::kLong))};
  PerformOnCpuForShapes(FindOperator("aten::index", "Tensor"), index);
  EXPECT_EQ(index[0].toTensor().sizes(), at::IntArrayRef({2, 3}));

  torch::jit::Stack zeros = {OnMeta({2}), std::vector<std::int64_t>{7}, {},
                             {},          at::Device(at::kMeta),        {}};
  PerformOnCpuForShapes(FindOperator("aten::new_zeros", ""), zeros);
  EXPECT_TRUE(zeros[0].toTensor().is_meta());
}

TEST(PerformOnCpuForShapes, RefusesWhatIsLargeOrWrites) {
  torch::jit::Stack large = {OnMeta({1 << 13, 1 << 13}), 1, true};
  ExpectError(
      [&] { PerformOnCpuForShapes(FindOperator("aten::argmax", ""), large); },
      ErrorCode::kUnsupported, "more than 16777216 elements");
  torch::jit::Stack writes = {OnMeta({2})};
  ExpectError(
      [&] { PerformOnCpuForShapes(FindOperator("aten::relu_", ""), writes); },
      ErrorCode::kUnsupported, "writes into its argument");
}

}  // namespace
}  // namespace foretell
