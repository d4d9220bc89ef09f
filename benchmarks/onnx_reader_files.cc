#include "benchmarks/onnx_reader_files.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "onnx-ml.pb.h"

namespace foretell::benchmarks {
namespace {

constexpr char kGraphTag = 0x3a;
constexpr char kInitializerTag = 0x2a;
constexpr char kRawDataTag = 0x4a;

std::string Varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out += static_cast<char>(value);
}

// One piece of the file: bytes, then weights that are all zero.
struct Piece {
  std::string bytes;
  std::int64_t weight_bytes = 0;
};

Piece Initializer(const std::string& name, std::vector<std::int64_t> dims) {
  ::onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(::onnx::TensorProto::FLOAT);
  std::int64_t weight_bytes = sizeof(float);
  for (const std::int64_t dim : dims) {
    tensor.add_dims(dim);
    weight_bytes *= dim;
  }
  std::string header = tensor.SerializeAsString();
  header += kRawDataTag;
  header += Varint(static_cast<std::uint64_t>(weight_bytes));
  std::string bytes(1, kInitializerTag);
  bytes += Varint(header.size() + static_cast<std::uint64_t>(weight_bytes));
  return {bytes + header, weight_bytes};
}

void AddNode(::onnx::GraphProto& graph, const std::string& op_type,
             const std::vector<std::string>& inputs,
             const std::string& output) {
  ::onnx::NodeProto& node = *graph.add_node();
  node.set_name("/" + op_type + "/" + output);
  node.set_op_type(op_type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  if (op_type != "Conv") return;
  ::onnx::AttributeProto& pads = *node.add_attribute();
  pads.set_name("pads");
  pads.set_type(::onnx::AttributeProto::INTS);
  for (int i = 0; i < 4; ++i) pads.add_ints(1);
}

void AddValue(::onnx::ValueInfoProto& value, const std::string& name) {
  value.set_name(name);
  value.mutable_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::FLOAT);
}

std::vector<Piece> GraphPieces(const OnnxFileSpec& spec) {
  ::onnx::GraphProto graph;
  graph.set_name(spec.name);
  std::vector<Piece> pieces(1);
  std::string last = "x";
  for (int i = 0; i < spec.layers; ++i) {
    const std::string layer = "layer" + std::to_string(i);
    AddNode(graph, "Conv", {last, layer + ".weight", layer + ".bias"},
            layer + ".conv");
    AddNode(graph, "Relu", {layer + ".conv"}, layer + ".relu");
    AddNode(graph, "Add", {layer + ".relu", last}, layer + ".sum");
    last = layer + ".sum";
    pieces.push_back(
        Initializer(layer + ".weight", {spec.channels, spec.channels, 3, 3}));
    pieces.push_back(Initializer(layer + ".bias", {spec.channels}));
  }
  AddValue(*graph.add_input(), "x");
  AddValue(*graph.add_output(), last);
  pieces[0].bytes = graph.SerializeAsString();
  return pieces;
}

void WritePieces(const std::vector<Piece>& pieces, std::ofstream& file) {
  std::int64_t size = 0;
  for (const Piece& piece : pieces) {
    size += static_cast<std::int64_t>(piece.bytes.size()) + piece.weight_bytes;
  }
  file << kGraphTag << Varint(static_cast<std::uint64_t>(size));
  for (const Piece& piece : pieces) {
    file << piece.bytes
         << std::string(static_cast<std::size_t>(piece.weight_bytes), '\0');
  }
}

}  // namespace

OnnxFileSpec SmallOnnxFile() { return {"conv_100MB", 100, 170}; }
OnnxFileSpec LargeOnnxFile() { return {"conv_1600MB", 150, 544}; }

std::string WriteOnnxFile(const OnnxFileSpec& spec, const std::string& folder) {
  const std::string path = folder + "/" + spec.name + ".onnx";
  if (std::filesystem::exists(path)) return path;
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  std::ofstream file(path, std::ios::binary);
  file << model.SerializeAsString();
  WritePieces(GraphPieces(spec), file);
  file.close();
  if (!file) {
    std::filesystem::remove(path);
    throw std::runtime_error("cannot write " + path);
  }
  return path;
}

}  // namespace foretell::benchmarks
