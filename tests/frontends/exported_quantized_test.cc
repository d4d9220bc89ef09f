// Operators of quantized_decomposed and torchao, which Python composes.

#include "frontends/exported/quantized_operators.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/error.h"
#include "tests/frontends/exported_file.h"
#include "tests/graph/expect_error.h"

namespace foretell::exported {
namespace {

using Values = std::vector<c10::IValue>;

Values Call(const std::string& name, const NamedValues& values) {
  const std::string target = "torch.ops." + name;
  EXPECT_TRUE(IsQuantizedOperator(target));
  return CallQuantizedOperator(target, values);
}

c10::IValue TypeValue(at::ScalarType type) {
  return static_cast<std::int64_t>(type);
}

c10::IValue IntList(const std::vector<std::int64_t>& numbers) {
  c10::impl::GenericList list(c10::AnyType::get());
  for (const std::int64_t number : numbers) list.push_back(number);
  return list;
}

void ExpectNumbers(const c10::IValue& actual, at::ArrayRef<double> expected,
                   at::ScalarType type) {
  const at::Tensor tensor = actual.toTensor();
  EXPECT_EQ(tensor.scalar_type(), type);
  EXPECT_TRUE(at::equal(tensor.flatten().to(at::kDouble),
                        at::tensor(expected, at::kDouble)))
      << tensor;
}

NamedValues PerTensor(const at::Tensor& input) {
  return {{"input", input},   {"scale", 0.5},
          {"zero_point", 3},  {"quant_min", -128},
          {"quant_max", 127}, {"dtype", TypeValue(at::kChar)}};
}

TEST(QuantizedDecomposed, RoundsShiftsAndClamps) {
  const at::Tensor x = at::tensor({0.0, 0.25, 0.75, -1.0, 1000.0}, at::kFloat);
  ExpectNumbers(
      Call("quantized_decomposed.quantize_per_tensor.default", PerTensor(x))[0],
      {3, 3, 5, 1, 127}, at::kChar);
  const at::Tensor codes = at::tensor({3, 5, -128}, at::kChar);
  ExpectNumbers(Call("quantized_decomposed.dequantize_per_tensor.default",
                     PerTensor(codes))[0],
                {0, 1, -65.5}, at::kFloat);
}

TEST(QuantizedDecomposed, HasAScalePerChannel) {
  const NamedValues values = {
      {"input", at::tensor({1, 2, 3, 4}, at::kChar).view({2, 2})},
      {"scales", at::tensor({1.0, 0.5}, at::kFloat)},
      {"zero_points", at::tensor({0, 2}, at::kLong)},
      {"axis", 1},
      {"quant_min", -128},
      {"quant_max", 127},
      {"dtype", TypeValue(at::kChar)}};
  ExpectNumbers(
      Call("quantized_decomposed.dequantize_per_channel.default", values)[0],
      {1, 0, 3, 1}, at::kFloat);
}

TEST(QuantizedDecomposed, ChoosesParametersFromTheRange) {
  const NamedValues values = {{"input", at::tensor({-1.0, 4.1}, at::kFloat)},
                              {"quant_min", 0},
                              {"quant_max", 255},
                              {"eps", 1e-4},
                              {"dtype", TypeValue(at::kByte)}};
  const Values chosen =
      Call("quantized_decomposed.choose_qparams.tensor", values);
  ASSERT_EQ(chosen.size(), 2);
  EXPECT_NEAR(chosen[0].toTensor().item<double>(), 5.1 / 255, 1e-6);
  ExpectNumbers(chosen[1], {50}, at::kLong);
}

TEST(Torchao, HasAScalePerBlock) {
  const NamedValues values = {
      {"input", at::tensor({1, 2, 3, 4}, at::kChar).view({1, 4})},
      {"block_size", IntList({1, 2})},
      {"scale", at::tensor({1.0, 0.5}, at::kFloat).view({1, 2})},
      {"zero_point", at::tensor({0, 2}, at::kChar).view({1, 2})},
      {"input_dtype", TypeValue(at::kChar)},
      {"output_dtype", TypeValue(at::kHalf)}};
  ExpectNumbers(Call("torchao.dequantize_affine.default", values)[0],
                {1, 2, 0.5, 1}, at::kHalf);
}

TEST(Torchao, ChoosesParametersPerToken) {
  const NamedValues values = {
      {"input", at::tensor({-2.0, 1.0, 4.0, 0.0}, at::kFloat).view({2, 2})},
      {"mapping_type", "SYMMETRIC"},
      {"block_size", IntList({1, 2})},
      {"target_dtype", TypeValue(at::kChar)},
      {"quant_min", -127},
      {"quant_max", 127},
      {"keepdim", true}};
  const Values chosen = Call("torchao.choose_qparams_affine.default", values);
  const at::Tensor scale = chosen.at(0).toTensor();
  EXPECT_EQ(scale.sizes(), (std::vector<std::int64_t>{2, 1}));
  EXPECT_NEAR(scale[0].item<double>(), 2.0 / 127, 1e-7);
  EXPECT_NEAR(scale[1].item<double>(), 4.0 / 127, 1e-7);
  ExpectNumbers(chosen.at(1), {0, 0}, at::kFloat);
}

TEST(Torchao, RefusesBlocksThatDoNotFit) {
  for (const std::int64_t block : {0, 3}) {
    const NamedValues values = {{"input", at::tensor({1, 2}, at::kChar)},
                                {"block_size", IntList({block})},
                                {"scale", at::tensor({1.0}, at::kFloat)},
                                {"input_dtype", TypeValue(at::kChar)}};
    EXPECT_THROW(Call("torchao.dequantize_affine.default", values), Error);
  }
}

// x · Wᵀ of codes: the kernels of eager PyTorch, the MACs of a plain layer.
TEST(ExportedQuantized, RunsKernelByKernel) {
  const std::string codes =
      NodeJson("q", "torch.ops.aten.to.dtype",
               Named("self", TensorArgument("w")) + ", " +
                   Named("dtype", R"({"as_scalar_type": 2})"));
  const std::string numbers = NodeJson(
      "d", "torch.ops.quantized_decomposed.dequantize_per_tensor.default",
      Named("input", TensorArgument("q")) + ", " +
          Named("scale", R"({"as_float": 0.5})") + ", " +
          Named("zero_point", R"({"as_int": 0})") + ", " +
          Named("quant_min", R"({"as_int": -128})") + ", " +
          Named("quant_max", R"({"as_int": 127})") + ", " +
          Named("dtype", R"({"as_scalar_type": 2})"));
  const std::string product =
      NodeJson("y", "torch.ops.aten.linear.default",
               Named("input", TensorArgument("x")) + ", " +
                   Named("weight", TensorArgument("d")));
  const SavedProgram saved(
      ModelJson(codes + ", " + numbers + ", " + product, TensorArgument("y")));
  const Trace trace = saved.Run();
  std::vector<std::string> targets;
  for (const foretell::Node& node : trace.graph.nodes()) {
    targets.push_back(node.target);
  }
  EXPECT_EQ(targets,
            (std::vector<std::string>{"to", "to", "sub", "mul", "linear"}));
  EXPECT_EQ(trace.graph.ForwardMacs(), 2 * 4 * 4);
}

TEST(ExportedQuantized, SubclassesOfTensorsAreRefusedWithTheRemedy) {
  const SavedProgram saved(ModelJson(
      NodeJson("y", "torch.ops.export.access_subclass_inner_tensor.default",
               Named("src_subclass_tensor", TensorArgument("w")) + ", " +
                   Named("attr", R"({"as_string": "qdata"})")),
      TensorArgument("y")));
  ExpectError([&] { saved.Run(); }, ErrorCode::kUnsupported,
              "unwrap_tensor_subclass(model)");
}

}  // namespace
}  // namespace foretell::exported
