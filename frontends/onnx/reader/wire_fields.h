#pragma once

#include <cstdint>
#include <string_view>

namespace foretell::onnx {

/// Messages of the ONNX schema that the wire scanner walks into. Optional and
/// Sequence types look alike on the wire, as do tensor and sparse tensor types.
enum class MessageKind : std::uint8_t {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kFunction,
  kValueInfo,
  kType,
  kTensorType,
  kElementType,
  kMapType,
  kShape,
};
inline constexpr int kNumMessageKinds =
    static_cast<int>(MessageKind::kShape) + 1;

/// Name of a message in the schema, e.g. "TensorProto".
std::string_view MessageName(MessageKind kind);

/// How a field is laid out on the wire. The packed kinds hold a list and may
/// come as one length-delimited field or as one field per element.
enum class FieldLayout : std::uint8_t {
  kVarint,
  kFixed32,
  kBytes,
  kPackedVarint,
  kPackedFixed32,
  kPackedFixed64,
};

/// What the scanner does with a field.
enum class FieldAction : std::uint8_t {
  kDrop,     ///< The reader has no use for it.
  kKeep,     ///< Copied as it is.
  kDescend,  ///< A message: walked into.
  kPayload,  ///< Elements of a tensor: kept when small, else noted.
  kRefuse,   ///< A feature that the reader does not know.
};

/// One field of a message.
struct FieldRule {
  std::uint32_t number;
  std::string_view name;
  FieldLayout layout;
  FieldAction action;
  /// Memory in bytes of one occurrence (of a packed list: one element) once
  /// parsed and converted; an upper estimate for the scanner's budget.
  std::int32_t memory = 0;
  MessageKind child = MessageKind::kModel;  ///< Message inside, for kDescend.
};

/// The rule of field `number` in a `kind`, or nullptr for an unknown field.
const FieldRule* FindFieldRule(MessageKind kind, std::uint32_t number);

}  // namespace foretell::onnx
