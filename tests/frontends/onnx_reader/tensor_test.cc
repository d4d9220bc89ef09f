#include "frontends/onnx/reader/tensor.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/frontends/onnx_reader/messages.h"

namespace foretell::onnx {
namespace {

using std::literals::string_literals::operator""s;
using Payload = TensorLiteral::Payload;

::onnx::TensorProto Tensor(std::int32_t data_type,
                           const std::vector<std::int64_t>& dims) {
  ::onnx::GraphProto graph;
  return AddInitializer(graph, "w", data_type, dims);
}

std::string TensorError(const ::onnx::TensorProto& tensor,
                        const ReadOptions& options = {}) {
  return ErrorOf([&] { ReadTensor(tensor, options); });
}

std::map<std::string, TensorLiteral> TensorsOf(const std::string& file) {
  std::map<std::string, TensorLiteral> tensors;
  for (const TensorLiteral& tensor :
       ReadModel(DataPath(file)).graph.initializers) {
    tensors[tensor.name] = tensor;
  }
  return tensors;
}

TEST(ConvertTensor, PacksTypedFieldsAsRawDataWouldHoldThem) {
  const std::pair<const char*, std::string> expected[] = {
      {"FLOAT", "\0\0\xc0\x3f\0\0\0\xc0"s},
      {"UINT8", "\x01\xff"s},
      {"INT8", "\x01\xfe"s},
      {"UINT16", "\x01\0\xff\xff"s},
      {"INT16", "\x01\0\xfe\xff"s},
      {"INT32", "\x01\0\0\0\xfe\xff\xff\xff"s},
      {"INT64", "\x01\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff"s},
      {"BOOL", "\x01\0"s},
      {"FLOAT16", "\0\x3e\0\xc0"s},
      {"DOUBLE", "\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\0\xc0"s},
      {"UINT32", "\x01\0\0\0\xff\xff\xff\xff"s},
      {"UINT64", "\x01\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"s},
      {"COMPLEX64", "\0\0\x80\x3f\0\0\0\x40\0\0\0\x80\0\0\x40\xc0"s},
      {"BFLOAT16", "\xc0\x3f\0\xc0"s},
      {"FLOAT8E4M3FN", "\x3c\xc0"s},
      {"FLOAT8E5M2", "\x3e\xc0"s},
  };
  std::map<std::string, TensorLiteral> tensors = TensorsOf("typed_data.onnx");
  for (const auto& [name, bytes] : expected) {
    EXPECT_EQ(tensors[name].bytes, bytes) << name;
    EXPECT_EQ(DataTypeName(tensors[name].data_type), name);
    EXPECT_EQ(tensors[name].payload, Payload::kInline) << name;
  }
  EXPECT_EQ(tensors["COMPLEX128"].bytes.size(), 32u);
  EXPECT_EQ(tensors["STRING"].strings, (Names{"one", ""}));
  EXPECT_EQ(tensors["STRING"].bytes, "");
}

TEST(ConvertTensor, KeepsTypesBelowAByteInTheirPacking) {
  const std::pair<const char*, std::string> expected[] = {
      {"uint4", "\x21\x03"},          {"int4", "\xf1\x02"},
      {"float4", "\x21\x03"},         {"int2", "\x39"},
      {"float6", "\x81\xf0\x03"},  // 01 02 3f, six bits each
      {"uint4_raw", "\x21\x03"},      {"uint2_raw", "\x39"},
      {"float6_raw", "\x81\xf0\x03"}, {"scale", "\x7f\x80\x81"},
  };
  std::map<std::string, TensorLiteral> tensors = TensorsOf("small_types.onnx");
  EXPECT_EQ(tensors.size(), std::size(expected));
  for (const auto& [name, bytes] : expected) {
    EXPECT_EQ(tensors[name].bytes, bytes) << name;
  }
}

TEST(ConvertTensor, MarksSkippedAndExternalPayloads) {
  ::onnx::TensorProto tensor = Tensor(kOnnxFloat, {2});
  tensor.set_raw_data(std::string(8, 'x'));
  EXPECT_EQ(ReadTensor(tensor, {.max_payload_bytes = 8}).bytes, "xxxxxxxx");
  const TensorLiteral skipped = ReadTensor(tensor, {.max_payload_bytes = 7});
  EXPECT_EQ(skipped.payload, Payload::kSkipped);
  EXPECT_EQ(skipped.bytes, "");
  EXPECT_EQ(skipped.NumElements(), 2);
  tensor.clear_raw_data();
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  EXPECT_EQ(ReadTensor(tensor).payload, Payload::kExternal);
}

TEST(ConvertTensor, NamesBothSizesOfAWrongPayload) {
  ::onnx::TensorProto tensor = Tensor(kOnnxFloat, {64, 3});
  tensor.set_raw_data(std::string(100, 'x'));
  const std::string expected =
      "corrupt: m.onnx: tensor 'w' FLOAT[64,3]: its payload has 100 bytes, its "
      "shape needs 768";
  EXPECT_EQ(TensorError(tensor), expected);
  EXPECT_EQ(TensorError(tensor, {.max_payload_bytes = 0}), expected);
}

TEST(ConvertTensor, ComparesTypedFieldsWithTheShape) {
  ::onnx::TensorProto tensor = Tensor(kOnnxInt64, {3});
  const std::string place =
      "corrupt: m.onnx: tensor 'w' INT64[3]: its payload ";
  EXPECT_EQ(TensorError(tensor), place + "has 0 bytes, its shape needs 24");
  tensor.add_int64_data(1);
  tensor.add_int64_data(1);
  EXPECT_EQ(TensorError(tensor), place + "has 16 bytes, its shape needs 24");
  EXPECT_EQ(TensorError(tensor, {.max_payload_bytes = 0}),
            place + "has 16 bytes at most, its shape needs 24");
  tensor.add_int64_data(1);
  EXPECT_EQ(ReadTensor(tensor).bytes.size(), 24u);
  EXPECT_EQ(ReadTensor(tensor, {.max_payload_bytes = 0}).payload,
            Payload::kSkipped);
}

TEST(ConvertTensor, RefusesElementsGivenTwice) {
  ::onnx::TensorProto tensor = Tensor(kOnnxFloat, {1});
  tensor.set_raw_data(std::string(4, 'x'));
  tensor.add_float_data(1);
  const std::string expected =
      "corrupt: m.onnx: tensor 'w' FLOAT[1]: its elements are given twice, in "
      "raw_data and outside it, expected one of them";
  EXPECT_EQ(TensorError(tensor), expected);
  EXPECT_EQ(TensorError(tensor, {.max_payload_bytes = 0}), expected);
}

TEST(ConvertTensor, CountsStrings) {
  ::onnx::TensorProto tensor = Tensor(kOnnxString, {2});
  tensor.add_string_data("one");
  const std::string expected =
      "corrupt: m.onnx: tensor 'w' STRING[2]: its payload has 1 strings, its "
      "shape needs 2";
  EXPECT_EQ(TensorError(tensor), expected);
  EXPECT_EQ(TensorError(tensor, {.max_payload_bytes = 0}), expected);
}

TEST(ConvertTensor, IgnoresTheFieldOfAnotherType) {
  ::onnx::TensorProto tensor = Tensor(kOnnxFloat, {1});
  tensor.add_double_data(1);
  EXPECT_EQ(TensorError(tensor),
            "corrupt: m.onnx: tensor 'w' FLOAT[1]: its payload has 0 bytes, "
            "its shape needs 4");
}

TEST(ConvertTensor, RefusesAbsurdShapes) {
  const std::string place = "corrupt: m.onnx: tensor 'w' FLOAT";
  EXPECT_EQ(TensorError(Tensor(kOnnxFloat, {4, -1})),
            place + "[4,-1]: dimension -1 of [4,-1] is negative");
  const std::int64_t big = std::int64_t{1} << 32;
  EXPECT_EQ(TensorError(Tensor(kOnnxFloat, {big, big})),
            place +
                "[4294967296,4294967296]: the number of elements of "
                "[4294967296,4294967296] is beyond 64 bits");
  EXPECT_EQ(TensorError(Tensor(kOnnxFloat, {big * (big >> 4)})),
            place + "[1152921504606846976]: its size exceeds 64 bits");
  EXPECT_EQ(TensorError(Tensor(kOnnxFloat, std::vector<std::int64_t>(100, 1))),
            place +
                "[1,1,1,1,1,1,1,1,1,1,…]: its rank is 100, expected at "
                "most 64");
}

TEST(ConvertTensor, RefusesUnknownTypes) {
  EXPECT_EQ(TensorError(Tensor(0, {1})),
            "corrupt: m.onnx: tensor 'w' UNDEFINED[1]: its data type 0 is "
            "unknown, expected 1 to 28");
  EXPECT_EQ(TensorError(Tensor(29, {1})),
            "unsupported: m.onnx: tensor 'w' data type 29[1]: its data type 29 "
            "is unknown, expected 1 to 28");
}

TEST(ConvertTensor, KeepsNamesInMessagesOnOneLine) {
  ::onnx::TensorProto tensor = Tensor(kOnnxFloat, {-1});
  tensor.set_name("a\nb" + std::string(200, 'c'));
  const std::string message = TensorError(tensor);
  EXPECT_EQ(message.substr(0, 35), R"(corrupt: m.onnx: tensor 'a\x0abcccc)");
  EXPECT_LT(message.size(), 250u);
}

}  // namespace
}  // namespace foretell::onnx
