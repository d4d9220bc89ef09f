#include "src/program/perform.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "foretell/trace.h"
#include "src/program/meta/meta_kernels.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

c10::OperatorHandle Find(const char* name, const char* overload) {
  InitializeTracing();
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

at::Tensor Meta(at::IntArrayRef shape, at::ScalarType type = at::kFloat) {
  return at::empty(shape, at::TensorOptions(type).device(at::kMeta));
}

c10::IValue Indices(const at::Tensor& index) {
  c10::List<std::optional<at::Tensor>> list;
  list.push_back(index);
  return list;
}

TEST(DependsOnData, AMaskDoesAndAnIndexDoesNot) {
  const auto index = Find("aten::index", "Tensor");
  EXPECT_TRUE(DependsOnData(index, {Meta({4}), Indices(Meta({4}, at::kBool))}));
  EXPECT_TRUE(DependsOnData(index, {Meta({4}), Indices(Meta({4}, at::kByte))}));
  EXPECT_FALSE(
      DependsOnData(index, {Meta({4}), Indices(Meta({4}, at::kLong))}));
}

TEST(DependsOnData, RepeatsByTensorDoUnlessTheSizeIsGiven) {
  const auto by_tensor = Find("aten::repeat_interleave", "self_Tensor");
  const at::Tensor repeats = Meta({4}, at::kLong);
  EXPECT_TRUE(DependsOnData(by_tensor, {Meta({4}), repeats, 0, {}}));
  EXPECT_FALSE(DependsOnData(by_tensor, {Meta({4}), repeats, 0, 9}));
  const auto by_int = Find("aten::repeat_interleave", "self_int");
  EXPECT_FALSE(DependsOnData(by_int, {Meta({4}), 2, 0, {}}));
}

TEST(DependsOnData, SplittingAtATensorDoes) {
  EXPECT_TRUE(
      DependsOnData(Find("aten::tensor_split", "tensor_indices_or_sections"),
                    {Meta({4}), Meta({1}, at::kLong), 0}));
  EXPECT_FALSE(
      DependsOnData(Find("aten::tensor_split", "sections"), {Meta({4}), 2, 0}));
}

TEST(DependsOnData, WhereWithOneArgumentIsNonzero) {
  EXPECT_TRUE(DependsOnData(Find("aten::where", ""), {Meta({4}, at::kBool)}));
  EXPECT_FALSE(DependsOnData(Find("aten::where", "self"),
                             {Meta({4}, at::kBool), Meta({4}), Meta({4})}));
}

TEST(PerformOnCpuForShapes, ReturnsMetaTensorsOfTheRightShapes) {
  torch::jit::Stack stack = {Meta({2, 3}), 1, true};
  PerformOnCpuForShapes(Find("aten::argmax", ""), stack);
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_TRUE(stack[0].toTensor().is_meta());
  EXPECT_EQ(stack[0].toTensor().sizes(), at::IntArrayRef({2, 1}));
  EXPECT_EQ(stack[0].toTensor().scalar_type(), at::kLong);
}

TEST(PerformOnCpuForShapes, TakesListsAndDevices) {
  c10::List<at::Tensor> list;
  list.push_back(Meta({2, 3}));
  list.push_back(Meta({4, 3}));
  torch::jit::Stack cat = {list, 0};
  PerformOnCpuForShapes(Find("aten::cat", ""), cat);
  EXPECT_EQ(cat[0].toTensor().sizes(), at::IntArrayRef({6, 3}));

  torch::jit::Stack index = {Meta({5, 3}), Indices(Meta({2}, at::kLong))};
  PerformOnCpuForShapes(Find("aten::index", "Tensor"), index);
  EXPECT_EQ(index[0].toTensor().sizes(), at::IntArrayRef({2, 3}));

  torch::jit::Stack zeros = {Meta({2}), std::vector<std::int64_t>{7}, {},
                             {},        at::Device(at::kMeta),        {}};
  PerformOnCpuForShapes(Find("aten::new_zeros", ""), zeros);
  EXPECT_TRUE(zeros[0].toTensor().is_meta());
}

TEST(PerformOnCpuForShapes, RefusesWhatIsLargeOrWrites) {
  torch::jit::Stack large = {Meta({1 << 13, 1 << 13}), 1, true};
  ExpectError([&] { PerformOnCpuForShapes(Find("aten::argmax", ""), large); },
              ErrorCode::kUnsupported, "more than 16777216 elements");
  torch::jit::Stack writes = {Meta({2})};
  ExpectError([&] { PerformOnCpuForShapes(Find("aten::relu_", ""), writes); },
              ErrorCode::kUnsupported, "writes into its argument");
}

}  // namespace
}  // namespace foretell
