// Operators of com.microsoft on few bits. Expected numbers are those of
// onnxruntime 1.32, which agree with their definitions by hand.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/error.h"
#include "frontends/onnx/literals.h"
#include "frontends/onnx/ops/type_support.h"
#include "tests/frontends/onnx_ops/node_runner.h"

namespace foretell::onnx {
namespace {

using Tensors = std::vector<at::Tensor>;

Tensors RunPacked(const std::string& op_type, std::vector<Attribute> attributes,
                  const Tensors& inputs, size_t num_outputs = 1) {
  return RunNode({.op_type = op_type,
                  .opset = 1,
                  .attributes = std::move(attributes),
                  .domain = "com.microsoft",
                  .num_outputs = num_outputs},
                 inputs);
}

at::Tensor ByteCodes(at::ArrayRef<std::int64_t> values, at::IntArrayRef shape) {
  return at::tensor(values).to(at::kByte).view(shape);
}

at::Tensor ByteCodes(at::ArrayRef<std::int64_t> values) {
  return ByteCodes(values, {static_cast<std::int64_t>(values.size())});
}

at::Tensor ZeroPoint(std::int64_t value) {
  return at::full({}, value, at::TensorOptions().dtype(at::kByte));
}

at::Tensor ScaleOf(double value) { return at::full({}, value); }

void ExpectCodes(const at::Tensor& actual,
                 at::ArrayRef<std::int64_t> expected) {
  EXPECT_EQ(actual.scalar_type(), at::kByte);
  EXPECT_TRUE(at::equal(actual.flatten().to(at::kLong), at::tensor(expected)))
      << actual;
}

void ExpectAlmost(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  EXPECT_TRUE(at::allclose(actual, expected, 1e-4, 1e-5)) << actual;
}

// ---- Blocks of few bits ----------------------------------------------------

/// A row of 16 numbers in 4 bits, 15, 2, then 8 and at the end 9.
at::Tensor RowOfNumbers() {
  return ByteCodes({0x2f, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x98}, {1, 1, 8});
}

/// 1 and 2 in the first two columns, and 1 in the last.
at::Tensor TwoRows() {
  at::Tensor x = at::zeros({2, 16});
  x[0][0] = 1;
  x[0][1] = 2;
  x[1][15] = 1;
  return x;
}

const std::vector<Attribute> kFourBits = {
    IntAttribute("K", 16), IntAttribute("N", 1), IntAttribute("bits", 4),
    IntAttribute("block_size", 16)};

TEST(MatMulNBits, TakesTheMiddleForZero) {
  ExpectAlmost(RunPacked("MatMulNBits", kFourBits,
                         {TwoRows(), RowOfNumbers(), at::full({1}, 0.5)})[0],
               at::tensor({-2.5f, 0.5f}).view({2, 1}));
}

TEST(MatMulNBits, HasPackedOrPlainZeroPointsAndABias) {
  for (const at::Tensor& zero : {ByteCodes({3}), at::full({1}, 3.0)}) {
    ExpectAlmost(RunPacked("MatMulNBits", kFourBits,
                           {TwoRows(),
                            RowOfNumbers(),
                            at::full({1}, 0.5),
                            zero,
                            {},
                            at::full({1}, 10.0)})[0],
                 at::tensor({15.0f, 13.0f}).view({2, 1}));
  }
}

TEST(MatMulNBits, ReadsTwoAndEightBits) {
  std::vector<Attribute> attributes = kFourBits;
  attributes[2] = IntAttribute("bits", 2);
  // 0xe4: 0, 1, 2, 3, less 2.
  ExpectAlmost(
      RunPacked("MatMulNBits", attributes,
                {TwoRows(), ByteCodes({0xe4, 0xe4, 0xe4, 0xe4}, {1, 1, 4}),
                 at::full({1}, 1.0)})[0],
      at::tensor({-4.0f, 1.0f}).view({2, 1}));
  attributes[2] = IntAttribute("bits", 8);
  const at::Tensor bytes = at::full({1, 1, 16}, 130).to(at::kByte);
  ExpectAlmost(RunPacked("MatMulNBits", attributes,
                         {TwoRows(), bytes, at::full({1}, 1.0)})[0],
               at::tensor({6.0f, 2.0f}).view({2, 1}));
}

TEST(MatMulNBits, RefusesBlocksThatDoNotHoldTheMatrix) {
  std::vector<Attribute> attributes = kFourBits;
  for (const auto& [place, attribute] :
       {std::pair(0, IntAttribute("K", 32)), std::pair(1, IntAttribute("N", 2)),
        std::pair(0, IntAttribute("K", 0)),
        std::pair(2, IntAttribute("bits", 3)),
        std::pair(3, IntAttribute("block_size", 0))}) {
    attributes = kFourBits;
    attributes[static_cast<size_t>(place)] = attribute;
    EXPECT_THROW(RunPacked("MatMulNBits", attributes,
                           {TwoRows(), RowOfNumbers(), at::full({1}, 0.5)}),
                 Error);
  }
}

TEST(GatherBlockQuantized, UnpacksTheChosenRows) {
  const at::Tensor table =
      at::tensor({0x21, 0x43}).to(at::kByte).view({2, 1}).repeat({1, 8});
  const at::Tensor scales = at::tensor({2.0f, 4.0f}).view({2, 1});
  const at::Tensor y =
      RunPacked("GatherBlockQuantized",
                {IntAttribute("bits", 4), IntAttribute("block_size", 16)},
                {table, at::tensor({1, 0}, at::kLong), scales})[0];
  // (3 - 8) · 4, (4 - 8) · 4 and (1 - 8) · 2, (2 - 8) · 2.
  ExpectAlmost(y, at::tensor({-20.0f, -16.0f, -14.0f, -12.0f})
                      .view({2, 1, 2})
                      .expand({2, 8, 2})
                      .reshape({2, 16}));
}

TEST(SmallTypes, AreHeldPackedOnMeta) {
  const auto bytes = [](std::int32_t code, std::vector<std::int64_t> dims) {
    TensorLiteral literal;
    literal.data_type = code;
    literal.dims = dims;
    const at::Tensor tensor = MetaTensor(literal, Precision::kFp16);
    EXPECT_EQ(tensor.sizes(), dims);
    EXPECT_EQ(CastTo(tensor, at::kFloat).sizes(), dims);
    return tensor.storage().nbytes();
  };
  constexpr int kUInt4 = 21, kInt4 = 22, kUInt2 = 25, kHalf = 10;
  EXPECT_EQ(bytes(kInt4, {3, 5}), 8);
  EXPECT_EQ(bytes(kUInt2, {3, 5}), 4);
  EXPECT_EQ(bytes(kUInt4, {}), 1);
  EXPECT_EQ(bytes(kHalf, {3}), 6);
}

// ---- Eight bits ------------------------------------------------------------

Tensors PairOfCodes() {
  return {ByteCodes({1, 3, 11}),
          ScaleOf(0.5),
          ZeroPoint(1),
          ByteCodes({3, 4, 50}),
          ScaleOf(2),
          ZeroPoint(2),
          ScaleOf(1),
          ZeroPoint(7)};
}

TEST(QLinear, AddsAndMultiplies) {
  // Of 0, 1, 5 and 2, 4, 96.
  ExpectCodes(RunPacked("QLinearAdd", {}, PairOfCodes())[0], {9, 12, 108});
  ExpectCodes(RunPacked("QLinearMul", {}, PairOfCodes())[0], {7, 11, 255});
}

TEST(QLinear, Activates) {
  const at::Tensor x = ByteCodes({0, 128, 255});
  ExpectCodes(RunPacked("QLinearSigmoid", {},
                        {x, ScaleOf(0.05), ZeroPoint(128), ScaleOf(1.0 / 256),
                         ZeroPoint(0)})[0],
              {0, 128, 255});
  ExpectCodes(RunPacked("QLinearLeakyRelu", {FloatAttribute("alpha", 0.5f)},
                        {x, ScaleOf(0.05), ZeroPoint(128), ScaleOf(0.05),
                         ZeroPoint(128)})[0],
              {64, 128, 255});
  ExpectCodes(RunPacked("QLinearSoftmax",
                        {IntAttribute("axis", 1), IntAttribute("opset", 13)},
                        {ByteCodes({0, 0, 10, 10}, {2, 2}), ScaleOf(0.1),
                         ZeroPoint(0), ScaleOf(1.0 / 256), ZeroPoint(0)})[0],
              {128, 128, 128, 128});
}

TEST(QLinear, Pools) {
  const at::Tensor x = at::arange(16).to(at::kByte);
  const Tensors rest = {ScaleOf(1), ZeroPoint(0), ScaleOf(0.5), ZeroPoint(0)};
  const auto with = [&](const at::Tensor& image) {
    Tensors inputs = {image};
    inputs.insert(inputs.end(), rest.begin(), rest.end());
    return inputs;
  };
  ExpectCodes(RunPacked("QLinearAveragePool",
                        {IntsAttribute("kernel_shape", {2, 2}),
                         IntsAttribute("strides", {2, 2})},
                        with(x.view({1, 1, 4, 4})))[0],
              {5, 9, 21, 25});
  const at::Tensor y =
      RunPacked("QLinearGlobalAveragePool", {IntAttribute("channels_last", 1)},
                with(x.view({1, 4, 4, 1})))[0];
  ExpectCodes(y, {15});
  EXPECT_EQ(y.sizes(), (std::vector<std::int64_t>{1, 1, 1, 1}));
}

TEST(QLinear, ConcatenatesInOneScale) {
  ExpectCodes(
      RunPacked("QLinearConcat", {IntAttribute("axis", 0)},
                {ScaleOf(1), ZeroPoint(0), ByteCodes({1, 2}), ScaleOf(2),
                 ZeroPoint(0), ByteCodes({9}), ScaleOf(0.5), ZeroPoint(1)})[0],
      {2, 4, 4});
}

TEST(QGemm, AddsItsBiasInStepsOfTheProduct) {
  const at::Tensor bias = at::tensor({5}, at::kInt);
  Tensors inputs = {ByteCodes({1, 2}, {1, 2}),
                    ScaleOf(0.5),
                    ZeroPoint(0),
                    ByteCodes({3, 4}, {1, 2}),
                    ScaleOf(2),
                    ZeroPoint(2),
                    bias,
                    ScaleOf(1),
                    ZeroPoint(1)};
  ExpectCodes(RunPacked("QGemm", {IntAttribute("transB", 1)}, inputs)[0], {11});
  inputs.resize(7);
  ExpectAlmost(RunPacked("QGemm", {IntAttribute("transB", 1)}, inputs)[0],
               at::full({1, 1}, 10.0));
}

TEST(MatMulIntegerToFloat, AddsItsBias) {
  ExpectAlmost(RunPacked("MatMulIntegerToFloat", {},
                         {ByteCodes({1, 2}, {1, 2}), ByteCodes({3, 4}, {2, 1}),
                          ScaleOf(0.5), ScaleOf(2), ZeroPoint(0), ZeroPoint(2),
                          at::ones({1})})[0],
               at::full({1, 1}, 6.0));
}

TEST(DynamicQuantizeMatMul, QuantizesItsInputByItsRange) {
  ExpectAlmost(RunPacked("DynamicQuantizeMatMul", {},
                         {at::tensor({0.0f, 255.0f}).view({1, 2}),
                          ByteCodes({3, 4}, {2, 1}), ScaleOf(2), ZeroPoint(2),
                          at::ones({1})})[0],
               at::full({1, 1}, 1021.0));
}

TEST(QAttention, ProjectsAndAttends) {
  // As MicrosoftAttention.ProjectsAndAttends, with codes for its numbers.
  const Tensors y = RunPacked("QAttention", {IntAttribute("num_heads", 1)},
                              {ByteCodes({3, 4}, {1, 2, 1}),
                               ByteCodes({5, 5, 5}, {1, 3}),
                               at::zeros({3}),
                               ScaleOf(1),
                               ScaleOf(0.25),
                               {},
                               ZeroPoint(3),
                               ZeroPoint(1)},
                              2);
  ExpectAlmost(y[0], at::tensor({0.5f, 0.7310586f}).view({1, 2, 1}));
  ExpectAlmost(y[1],
               at::tensor({0.0f, 1.0f, 0.0f, 1.0f}).view({2, 1, 1, 2, 1}));
}

TEST(DynamicQuantizeLstm, IsAnLstmWithUnpackedWeights) {
  constexpr std::int64_t kHidden = 2, kInput = 3;
  const at::Tensor x = at::rand({4, 1, kInput});
  const auto codes = [](std::int64_t rows) {
    return at::arange(rows * 4 * kHidden)
        .to(at::kByte)
        .view({1, rows, 4 * kHidden});
  };
  const at::Tensor scale = at::full({1}, 0.05);
  const at::Tensor zero = ByteCodes({10});
  const auto plain = [&](const at::Tensor& packed) {
    return packed.to(at::kFloat).sub(10).mul(0.05).transpose(1, 2).contiguous();
  };
  const std::vector<Attribute> attributes = {
      IntAttribute("hidden_size", kHidden)};
  const Tensors packed = RunPacked("DynamicQuantizeLSTM", attributes,
                                   {x,
                                    codes(kInput),
                                    codes(kHidden),
                                    {},
                                    {},
                                    {},
                                    {},
                                    {},
                                    scale,
                                    zero,
                                    scale,
                                    zero},
                                   3);
  const Tensors expected =
      RunNode({.op_type = "LSTM", .attributes = attributes, .num_outputs = 3},
              {x, plain(codes(kInput)), plain(codes(kHidden))});
  for (size_t i = 0; i < 3; ++i) ExpectAlmost(packed[i], expected[i]);
}

}  // namespace
}  // namespace foretell::onnx
