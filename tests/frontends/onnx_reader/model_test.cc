#include "frontends/onnx/reader/model.h"

#include <gtest/gtest.h>

#include <limits>

namespace foretell::onnx {
namespace {

TEST(DTypeOfCode, KnowsWhatForetellCanHold) {
  EXPECT_EQ(DTypeOfCode(kOnnxFloat), DType::kF32);
  EXPECT_EQ(DTypeOfCode(kOnnxInt64), DType::kI64);
  EXPECT_EQ(DTypeOfCode(kOnnxBool), DType::kBool);
  EXPECT_EQ(DTypeOfCode(10), DType::kF16);
  EXPECT_EQ(DTypeOfCode(16), DType::kBF16);
  EXPECT_EQ(DTypeOfCode(15), DType::kC128);
  for (const int float8 : {17, 18, 19, 20, 24}) {
    EXPECT_EQ(DTypeOfCode(float8), DType::kF8) << float8;
  }
}

TEST(DTypeOfCode, IsEmptyForStringsSixBitFloatsAndUnknownTypes) {
  for (const int code : {-1, 0, 8, 27, 28, 29, 1000}) {
    EXPECT_EQ(DTypeOfCode(code), std::nullopt) << code;
  }
}

TEST(DTypeOfCode, HoldsElementsOfLessThanAByteInOne) {
  EXPECT_EQ(DTypeOfCode(21), DType::kU8);  // UINT4
  EXPECT_EQ(DTypeOfCode(22), DType::kI8);  // INT4
  EXPECT_EQ(DTypeOfCode(23), DType::kF8);  // FLOAT4E2M1
  EXPECT_EQ(DTypeOfCode(25), DType::kU8);  // UINT2
  EXPECT_EQ(DTypeOfCode(26), DType::kI8);  // INT2
}

TEST(DataTypeName, IsTheNameInTheSchemaOrTheCode) {
  EXPECT_EQ(DataTypeName(0), "UNDEFINED");
  EXPECT_EQ(DataTypeName(10), "FLOAT16");
  EXPECT_EQ(DataTypeName(28), "FLOAT6E3M2");
  EXPECT_EQ(DataTypeName(29), "data type 29");
}

TEST(TensorLiteral, MultipliesItsDimensions) {
  TensorLiteral tensor;
  EXPECT_EQ(tensor.NumElements(), 1);
  tensor.dims = {2, 3, 4};
  EXPECT_EQ(tensor.NumElements(), 24);
  tensor.dims = {2, 0};
  EXPECT_EQ(tensor.NumElements(), 0);
}

TEST(Node, FindsAttributesByName) {
  Node node;
  node.attributes.resize(2);
  node.attributes[1].name = "axis";
  EXPECT_EQ(node.FindAttribute("axis"), &node.attributes[1]);
  EXPECT_EQ(node.FindAttribute("axes"), nullptr);
}

TEST(Model, CountsFloatingPointInitializersOnly) {
  Model model;
  const auto add = [&](int code, std::vector<std::int64_t> dims) {
    TensorLiteral tensor;
    tensor.data_type = code;
    tensor.dims = std::move(dims);
    model.graph.initializers.push_back(tensor);
  };
  add(kOnnxFloat, {3, 5});
  add(kOnnxInt64, {100});
  add(kOnnxString, {100});
  add(10, {7});
  EXPECT_EQ(model.FloatInitializerElements(), 22);
  add(1, {std::int64_t{1} << 62});
  add(1, {std::int64_t{1} << 62});
  EXPECT_EQ(model.FloatInitializerElements(),
            std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace foretell::onnx
