#include "frontends/onnx/reader/mask.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/frontends/onnx_reader/messages.h"

namespace foretell::onnx {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLowest = std::numeric_limits<float>::lowest();

TensorLiteral Matrix(std::vector<float> values, std::int64_t columns) {
  TensorLiteral literal;
  literal.name = "m";
  literal.data_type = kOnnxFloat;
  literal.dims = {std::ssize(values) / columns, columns};
  literal.bytes.assign(reinterpret_cast<const char*>(values.data()),
                       values.size() * sizeof(float));
  return literal;
}

TensorLiteral Causal(float hidden) {
  return Matrix({0, hidden, hidden, 0, 0, hidden}, 3);
}

TEST(Mask, HoldsZerosAndHiddenElements) {
  EXPECT_EQ(MaskContentOf(Causal(kLowest)), MaskContent::kAdditive);
  EXPECT_EQ(MaskContentOf(Causal(-kInfinity)), MaskContent::kAdditive);
  EXPECT_EQ(MaskContentOf(Matrix({1, 1, 1, 1}, 2)), MaskContent::kOnes);
  EXPECT_EQ(MaskContentOf(Causal(-10000)), MaskContent::kOther);
  EXPECT_EQ(MaskContentOf(Causal(kInfinity)), MaskContent::kOther);
  EXPECT_EQ(MaskContentOf(Matrix({0, 0, 0, 0}, 2)), MaskContent::kOther);
  EXPECT_EQ(MaskContentOf(Matrix({0, 1, 0, 1}, 2)), MaskContent::kOther);
}

TEST(Mask, KnowsTheLowestNumberOfEveryType) {
  const std::pair<std::int32_t, std::uint64_t> lowest[] = {
      {1, 0xFF7FFFFF}, {10, 0xFBFF}, {11, 0xFFEFFFFFFFFFFFFF}, {16, 0xFF7F}};
  for (const auto& [type, bits] : lowest) {
    EXPECT_EQ(MaskElementAt(type, reinterpret_cast<const char*>(&bits)),
              MaskElement::kHidden)
        << type;
  }
  const std::uint64_t number = 0xFF7FFFFF;
  EXPECT_EQ(MaskElementAt(kOnnxInt64, reinterpret_cast<const char*>(&number)),
            MaskElement::kOther);
}

TEST(Mask, IsCausalWhereItHidesJustWhatLiesAboveTheDiagonal) {
  EXPECT_TRUE(IsCausal(Causal(kLowest)));
  EXPECT_FALSE(IsCausal(Matrix({0, kLowest, 0, kLowest}, 2)));
  EXPECT_FALSE(IsCausal(Matrix({0, 0, 0, kLowest}, 2)));
  TensorLiteral deeper = Causal(kLowest);
  deeper.dims.insert(deeper.dims.begin(), 1);
  EXPECT_FALSE(IsCausal(deeper));
  EXPECT_TRUE(HidesByInfinity(Causal(-kInfinity)));
  EXPECT_FALSE(HidesByInfinity(Causal(kLowest)));
}

TEST(Mask, BecomesBooleanWhereAScoreCounts) {
  const TensorLiteral mask = BooleanMask(Causal(kLowest));
  EXPECT_EQ(mask.data_type, kOnnxBool);
  EXPECT_EQ(mask.dims, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(mask.bytes, std::string("\1\0\0\1\1\0", 6));
}

// ---- In a file -------------------------------------------------------------

/// A square of floats as an initializer with raw_data.
::onnx::TensorProto Square(const std::vector<float>& values,
                           std::int64_t side) {
  ::onnx::TensorProto tensor;
  tensor.set_data_type(kOnnxFloat);
  tensor.set_name("m");
  tensor.add_dims(side);
  tensor.add_dims(side);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

std::vector<float> CausalSquare(std::int64_t side) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < side * side; ++i) {
    values.push_back(i % side > i / side ? kLowest : 0);
  }
  return values;
}

bool IsInline(const std::vector<float>& values,
              const ReadOptions& options = {}) {
  constexpr std::int64_t kSide = 100;
  return ReadTensor(Square(values, kSide), options).payload ==
         TensorLiteral::Payload::kInline;
}

TEST(Mask, IsReadBeyondTheLimitOfOtherPayloads) {
  std::vector<float> values = CausalSquare(100);
  EXPECT_TRUE(IsInline(values));
  EXPECT_TRUE(IsInline(std::vector<float>(10000, 1)));
  EXPECT_FALSE(IsInline(values, {.max_mask_bytes = 39'999}));
  values.back() = 0.5;
  EXPECT_FALSE(IsInline(values));
  EXPECT_FALSE(IsInline(std::vector<float>(10000, 0)));
  EXPECT_FALSE(IsInline(std::vector<float>(10000, 0.5)));
}

TEST(Mask, FurtherOnesAreSkippedOnceAFileHasFourOfFullSize) {
  ::onnx::ModelProto proto = ReluModel();
  for (int i = 0; i < 6; ++i) {
    ::onnx::TensorProto mask = Square(CausalSquare(100), 100);
    mask.set_name("mask" + std::to_string(i));
    *proto.mutable_graph()->add_initializer() = mask;
  }
  const Model model = Read(proto, {.max_mask_bytes = 40'000});
  int num_read = 0;
  for (const TensorLiteral& literal : model.graph.initializers) {
    num_read += literal.payload == TensorLiteral::Payload::kInline;
  }
  EXPECT_EQ(num_read, 4);
}

}  // namespace
}  // namespace foretell::onnx
