#include "frontends/onnx/reader/type_info.h"

#include <memory>
#include <utility>
#include <vector>

#include "frontends/onnx/reader/tensor.h"
#include "frontends/onnx/reader/text.h"

namespace foretell::onnx {
namespace {

Dim ConvertDim(const ::onnx::TensorShapeProto::Dimension& proto) {
  Dim dim;
  if (proto.has_dim_value() && proto.dim_value() != -1) {
    dim.value = proto.dim_value();
  }
  if (proto.has_dim_param()) dim.symbol = proto.dim_param();
  return dim;
}

std::vector<Dim> ConvertShape(const ::onnx::TensorShapeProto& proto) {
  std::vector<Dim> dims;
  std::vector<std::int64_t> known;
  dims.reserve(static_cast<std::size_t>(proto.dim_size()));
  for (const ::onnx::TensorShapeProto::Dimension& dim : proto.dim()) {
    dims.push_back(ConvertDim(dim));
    known.push_back(dims.back().value.value_or(1));
  }
  CheckDims(known);
  return dims;
}

// Tensor and sparse tensor types have the same fields.
template <typename TensorTypeProto>
TypeInfo ConvertTensorType(const TensorTypeProto& proto, TypeInfo::Kind kind) {
  TypeInfo info;
  info.kind = kind;
  info.elem_type = proto.elem_type();
  if (proto.has_shape()) info.shape = ConvertShape(proto.shape());
  return info;
}

// Sequence and optional types have the same fields.
template <typename WrapperProto>
TypeInfo ConvertWrapper(const WrapperProto& proto, TypeInfo::Kind kind) {
  TypeInfo info;
  info.kind = kind;
  info.element =
      std::make_shared<const TypeInfo>(ConvertType(proto.elem_type()));
  return info;
}

}  // namespace

TypeInfo ConvertType(const ::onnx::TypeProto& proto) {
  using Kind = TypeInfo::Kind;
  TypeInfo info;
  switch (proto.value_case()) {
    case ::onnx::TypeProto::kTensorType:
      return ConvertTensorType(proto.tensor_type(), Kind::kTensor);
    case ::onnx::TypeProto::kSparseTensorType:
      return ConvertTensorType(proto.sparse_tensor_type(), Kind::kSparseTensor);
    case ::onnx::TypeProto::kSequenceType:
      return ConvertWrapper(proto.sequence_type(), Kind::kSequence);
    case ::onnx::TypeProto::kOptionalType:
      return ConvertWrapper(proto.optional_type(), Kind::kOptional);
    case ::onnx::TypeProto::kMapType:
      info.kind = Kind::kMap;
      return info;
    default:
      return info;
  }
}

ValueInfo ConvertValueInfo(::onnx::ValueInfoProto& proto) {
  ValueInfo info;
  info.name = std::move(*proto.mutable_name());
  InContext([&] { return "value " + Quoted(info.name); },
            [&] { info.type = ConvertType(proto.type()); });
  return info;
}

}  // namespace foretell::onnx
