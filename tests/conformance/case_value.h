#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/reader/model.h"

namespace foretell::conformance {

/// An input or expected output of a case.
struct CaseValue {
  enum class Kind { kAbsent, kTensor, kSequence };
  Kind kind = Kind::kAbsent;  ///< kAbsent is an empty optional.
  /// The one tensor of kTensor, the elements of kSequence.
  std::vector<onnx::TensorLiteral> tensors;
};

/// Reads a `.pb` file that holds a TensorProto, SequenceProto or OptionalProto
/// as `type` tells. Throws Error kIo when the file cannot be read, kCorrupt
/// when it is no such message, kUnsupported for maps, sparse tensors and nested
/// sequences; the message starts with the path.
CaseValue ReadCaseValue(const std::filesystem::path& path,
                        const onnx::TypeInfo& type);

/// As above from memory; `origin` stands for the path in messages.
CaseValue ReadCaseValueFromBytes(std::string_view bytes,
                                 const onnx::TypeInfo& type,
                                 const std::string& origin);

}  // namespace foretell::conformance
