#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace foretell::learned {

/// One tensor of a safetensors file.
struct StoredTensor {
  std::string dtype;                ///< "F32", "F64", "I64", "U8", ….
  std::vector<std::int64_t> shape;  ///< Empty: a scalar.
  std::string bytes;                ///< Little-endian, row by row.

  std::int64_t NumElements() const;
  bool operator==(const StoredTensor&) const = default;
};

/// Content of a safetensors file.
struct SafeTensors {
  std::map<std::string, StoredTensor> tensors;  ///< By name.
  std::map<std::string, std::string> metadata;  ///< "__metadata__".

  bool operator==(const SafeTensors&) const = default;
};

/// Bytes per element of a safetensors type; 0 for one that is not known.
std::int64_t BytesPerElement(std::string_view dtype);

/// The file's bytes. Equal content gives equal bytes: tensors are in the order
/// of their names. Throws Error(kInternal) for a tensor whose bytes do not fit
/// its type and shape.
std::string SerializeSafeTensors(const SafeTensors& content);

/// Reads the bytes of a file; `origin` names it in errors.
///
/// Strict: throws Error(kCorrupt) that names the tensor and both values unless
/// the header is one JSON object without repeated names, types are known,
/// sizes fit shapes, and tensors cover the data without gap and overlap.
SafeTensors ParseSafeTensors(std::string_view bytes, const std::string& origin);

}  // namespace foretell::learned
