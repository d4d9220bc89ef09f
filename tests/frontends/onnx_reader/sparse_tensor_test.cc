#include <gtest/gtest.h>

#include <cstring>

#include "tests/frontends/onnx_reader/messages.h"

namespace foretell::onnx {
namespace {

using Payload = TensorLiteral::Payload;

std::vector<float> Floats(const TensorLiteral& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

// [0 0 0; 0 7 0] with one index pair.
::onnx::ModelProto SparseModel() {
  ::onnx::ModelProto model = ReluModel();
  ::onnx::SparseTensorProto& sparse =
      *model.mutable_graph()->add_sparse_initializer();
  sparse.add_dims(2);
  sparse.add_dims(3);
  sparse.mutable_values()->set_name("w");
  sparse.mutable_values()->set_data_type(kOnnxFloat);
  sparse.mutable_values()->add_dims(1);
  sparse.mutable_values()->add_float_data(7);
  sparse.mutable_indices()->set_data_type(kOnnxInt64);
  sparse.mutable_indices()->add_dims(1);
  sparse.mutable_indices()->add_dims(2);
  sparse.mutable_indices()->add_int64_data(1);
  sparse.mutable_indices()->add_int64_data(1);
  return model;
}

::onnx::SparseTensorProto& SparseOf(::onnx::ModelProto& model) {
  return *model.mutable_graph()->mutable_sparse_initializer(0);
}

TEST(ConvertSparseTensor, FillsInZerosForBothKindsOfIndices) {
  const Model model = ReadModel(DataPath("sparse.onnx"));
  ASSERT_EQ(model.graph.initializers.size(), 2u);
  const TensorLiteral& tuples = model.graph.initializers[0];
  EXPECT_EQ(tuples.name, "tuples");
  EXPECT_EQ(tuples.dims, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(Floats(tuples), (std::vector<float>{0, 1, 0, 0, 0, 2}));
  EXPECT_EQ(Floats(model.graph.initializers[1]),
            (std::vector<float>{0, 5, 0, 0, 0, 0, 0, 0, 6}));
  const Attribute* constant =
      model.graph.nodes[0].FindAttribute("sparse_value");
  ASSERT_NE(constant, nullptr);
  EXPECT_EQ(constant->kind, Attribute::Kind::kSparseTensor);
  EXPECT_EQ(Floats(constant->tensors.at(0)), (std::vector<float>{0, 0, 7}));
}

TEST(ConvertSparseTensor, LeavesLargeOnesToTheirShape) {
  ::onnx::ModelProto model = SparseModel();
  SparseOf(model).set_dims(0, std::int64_t{1} << 40);
  const TensorLiteral tensor = Read(model).graph.initializers.at(0);
  EXPECT_EQ(tensor.payload, Payload::kSkipped);
  EXPECT_EQ(tensor.bytes, "");
  EXPECT_EQ(tensor.NumElements(), std::int64_t{3} << 40);
  EXPECT_EQ(Read(SparseModel(), {.max_payload_bytes = 16})
                .graph.initializers.at(0)
                .payload,
            Payload::kSkipped);
}

TEST(ConvertSparseTensor, IsExternalWhenAPartIs) {
  ::onnx::ModelProto model = SparseModel();
  SparseOf(model).mutable_values()->set_data_location(
      ::onnx::TensorProto::EXTERNAL);
  EXPECT_EQ(Read(model).graph.initializers.at(0).payload, Payload::kExternal);
}

TEST(ConvertSparseTensor, RefusesPartsThatDoNotFit) {
  const std::string place = "corrupt: m.onnx: sparse tensor 'w' FLOAT[2,3]: ";
  ::onnx::ModelProto outside = SparseModel();
  SparseOf(outside).mutable_indices()->set_int64_data(1, 3);
  EXPECT_EQ(ErrorOf(outside), place + "index 3 is out of range [0, 3)");

  ::onnx::ModelProto types = SparseModel();
  SparseOf(types).mutable_indices()->set_data_type(kOnnxFloat);
  SparseOf(types).mutable_indices()->add_float_data(1);
  SparseOf(types).mutable_indices()->add_float_data(1);
  EXPECT_EQ(ErrorOf(types), place + "its indices are FLOAT, expected INT64");

  ::onnx::ModelProto shapes = SparseModel();
  SparseOf(shapes).mutable_indices()->set_dims(0, 2);
  SparseOf(shapes).mutable_indices()->set_dims(1, 1);
  EXPECT_EQ(ErrorOf(shapes),
            place +
                "its indices have shape [2,1], expected [1] or [1,2] for 1 "
                "value");

  ::onnx::ModelProto rank = SparseModel();
  SparseOf(rank).mutable_values()->add_dims(1);
  EXPECT_EQ(ErrorOf(rank), place + "its values have rank 2, expected 1");
}

TEST(ConvertSparseTensor, RefusesOneWithoutValues) {
  ::onnx::ModelProto model = ReluModel();
  model.mutable_graph()->add_sparse_initializer();
  EXPECT_EQ(ErrorOf(model).substr(0, 8), "corrupt:");
}

}  // namespace
}  // namespace foretell::onnx
