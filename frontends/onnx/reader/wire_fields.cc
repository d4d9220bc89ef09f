#include "frontends/onnx/reader/wire_fields.h"

#include <array>
#include <span>

// Field numbers of onnx-ml.proto, IR version 14. Fields that are not listed
// are unknown and dropped, so the tables name every field of a message that
// the reader walks into, wanted or not: a wrong wire type is then noticed.

namespace foretell::onnx {
namespace {

using enum FieldLayout;
using enum FieldAction;

// Measured sizes of the Protobuf class and of the structure in model.h,
// together with what malloc adds.
constexpr std::int32_t kText = 112;
constexpr std::int32_t kNodeMemory = 512;
constexpr std::int32_t kAttributeMemory = 768;
constexpr std::int32_t kTensorMemory = 512;
constexpr std::int32_t kSmallMessage = 192;
constexpr std::int32_t kGraphMemory = 640;
constexpr std::int32_t kFunctionMemory = 1280;

constexpr FieldRule Message(std::uint32_t number, std::string_view name,
                            MessageKind child, std::int32_t memory) {
  return {number, name, kBytes, kDescend, memory, child};
}
constexpr FieldRule Text(std::uint32_t number, std::string_view name) {
  return {number, name, kBytes, kKeep, kText};
}
constexpr FieldRule Dropped(std::uint32_t number, std::string_view name) {
  return {number, name, kBytes, kDrop};
}

constexpr FieldRule kModelFields[] = {
    {1, "ir_version", kVarint, kKeep},
    Text(2, "producer_name"),
    Text(3, "producer_version"),
    Dropped(4, "domain"),
    {5, "model_version", kVarint, kDrop},
    Dropped(6, "doc_string"),
    Message(7, "graph", MessageKind::kGraph, kGraphMemory),
    {8, "opset_import", kBytes, kKeep, kSmallMessage},
    Dropped(14, "metadata_props"),
    Dropped(20, "training_info"),
    Message(25, "functions", MessageKind::kFunction, kFunctionMemory),
    Dropped(26, "configuration"),
};

constexpr FieldRule kGraphFields[] = {
    Message(1, "node", MessageKind::kNode, kNodeMemory),
    Text(2, "name"),
    Message(5, "initializer", MessageKind::kTensor, kTensorMemory),
    Dropped(10, "doc_string"),
    Message(11, "input", MessageKind::kValueInfo, kSmallMessage),
    Message(12, "output", MessageKind::kValueInfo, kSmallMessage),
    Dropped(13, "value_info"),
    Dropped(14, "quantization_annotation"),
    Message(15, "sparse_initializer", MessageKind::kSparseTensor,
            kTensorMemory),
    Dropped(16, "metadata_props"),
};

constexpr FieldRule kNodeFields[] = {
    Text(1, "input"),
    Text(2, "output"),
    Text(3, "name"),
    Text(4, "op_type"),
    Message(5, "attribute", MessageKind::kAttribute, kAttributeMemory),
    Dropped(6, "doc_string"),
    Text(7, "domain"),
    Text(8, "overload"),
    Dropped(9, "metadata_props"),
    Dropped(10, "device_configurations"),
};

constexpr FieldRule kAttributeFields[] = {
    Text(1, "name"),
    {2, "f", kFixed32, kKeep},
    {3, "i", kVarint, kKeep},
    Text(4, "s"),
    Message(5, "t", MessageKind::kTensor, kTensorMemory),
    Message(6, "g", MessageKind::kGraph, kGraphMemory),
    {7, "floats", kPackedFixed32, kKeep, 16},
    {8, "ints", kPackedVarint, kKeep, 32},
    Text(9, "strings"),
    Message(10, "tensors", MessageKind::kTensor, kTensorMemory),
    Message(11, "graphs", MessageKind::kGraph, kGraphMemory),
    Dropped(13, "doc_string"),
    Message(14, "tp", MessageKind::kType, kSmallMessage),
    Message(15, "type_protos", MessageKind::kType, kSmallMessage),
    {20, "type", kVarint, kKeep},
    Text(21, "ref_attr_name"),
    Message(22, "sparse_tensor", MessageKind::kSparseTensor, kTensorMemory),
    Message(23, "sparse_tensors", MessageKind::kSparseTensor, kTensorMemory),
};

constexpr FieldRule kTensorFields[] = {
    {1, "dims", kPackedVarint, kKeep, 32},
    {2, "data_type", kVarint, kKeep},
    {3, "segment", kBytes, kRefuse},
    {4, "float_data", kPackedFixed32, kPayload, 16},
    {5, "int32_data", kPackedVarint, kPayload, 16},
    {6, "string_data", kBytes, kPayload, kText},
    {7, "int64_data", kPackedVarint, kPayload, 32},
    Text(8, "name"),
    {9, "raw_data", kBytes, kPayload, kText},
    {10, "double_data", kPackedFixed64, kPayload, 32},
    {11, "uint64_data", kPackedVarint, kPayload, 32},
    Dropped(12, "doc_string"),
    Dropped(13, "external_data"),
    {14, "data_location", kVarint, kKeep},
    Dropped(16, "metadata_props"),
};

constexpr FieldRule kSparseTensorFields[] = {
    Message(1, "values", MessageKind::kTensor, kTensorMemory),
    Message(2, "indices", MessageKind::kTensor, kTensorMemory),
    {3, "dims", kPackedVarint, kKeep, 32},
};

constexpr FieldRule kFunctionFields[] = {
    Text(1, "name"),
    Text(4, "input"),
    Text(5, "output"),
    Text(6, "attribute"),
    Message(7, "node", MessageKind::kNode, kNodeMemory),
    Dropped(8, "doc_string"),
    {9, "opset_import", kBytes, kKeep, kSmallMessage},
    Text(10, "domain"),
    Message(11, "attribute_proto", MessageKind::kAttribute, kAttributeMemory),
    Dropped(12, "value_info"),
    Text(13, "overload"),
    Dropped(14, "metadata_props"),
};

constexpr FieldRule kValueInfoFields[] = {
    Text(1, "name"),
    Message(2, "type", MessageKind::kType, kSmallMessage),
    Dropped(3, "doc_string"),
    Dropped(4, "metadata_props"),
};

constexpr FieldRule kTypeFields[] = {
    Message(1, "tensor_type", MessageKind::kTensorType, kSmallMessage),
    Message(4, "sequence_type", MessageKind::kElementType, kSmallMessage),
    Message(5, "map_type", MessageKind::kMapType, kSmallMessage),
    Dropped(6, "denotation"),
    Dropped(7, "opaque_type"),
    Message(8, "sparse_tensor_type", MessageKind::kTensorType, kSmallMessage),
    Message(9, "optional_type", MessageKind::kElementType, kSmallMessage),
};

constexpr FieldRule kTensorTypeFields[] = {
    {1, "elem_type", kVarint, kKeep},
    Message(2, "shape", MessageKind::kShape, kSmallMessage),
};

constexpr FieldRule kElementTypeFields[] = {
    Message(1, "elem_type", MessageKind::kType, kSmallMessage),
};

constexpr FieldRule kMapTypeFields[] = {
    {1, "key_type", kVarint, kKeep},
    Dropped(2, "value_type"),
};

constexpr FieldRule kShapeFields[] = {
    {1, "dim", kBytes, kKeep, kSmallMessage},
};

struct MessageRow {
  std::string_view name;
  std::span<const FieldRule> fields;
};

// In the order of MessageKind.
constexpr MessageRow kMessages[] = {
    {"ModelProto", kModelFields},
    {"GraphProto", kGraphFields},
    {"NodeProto", kNodeFields},
    {"AttributeProto", kAttributeFields},
    {"TensorProto", kTensorFields},
    {"SparseTensorProto", kSparseTensorFields},
    {"FunctionProto", kFunctionFields},
    {"ValueInfoProto", kValueInfoFields},
    {"TypeProto", kTypeFields},
    {"TypeProto.Tensor", kTensorTypeFields},
    {"TypeProto.Sequence", kElementTypeFields},
    {"TypeProto.Map", kMapTypeFields},
    {"TensorShapeProto", kShapeFields},
};
static_assert(std::size(kMessages) == kNumMessageKinds);

// Rules by field number, so that a look-up is one load.
constexpr int kNumFieldNumbers = 32;
using RuleIndex = std::array<std::array<const FieldRule*, kNumFieldNumbers>,
                             kNumMessageKinds>;

constexpr RuleIndex MakeRuleIndex() {
  RuleIndex index = {};
  for (size_t kind = 0; kind < std::size(kMessages); ++kind) {
    for (const FieldRule& rule : kMessages[kind].fields) {
      index[kind][rule.number] = &rule;
    }
  }
  return index;
}
constexpr RuleIndex kRuleIndex = MakeRuleIndex();

}  // namespace

std::string_view MessageName(MessageKind kind) {
  return kMessages[static_cast<size_t>(kind)].name;
}

const FieldRule* FindFieldRule(MessageKind kind, std::uint32_t number) {
  if (number >= kNumFieldNumbers) return nullptr;
  return kRuleIndex[static_cast<size_t>(kind)][number];
}

}  // namespace foretell::onnx
