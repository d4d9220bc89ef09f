#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "foretell/graph.h"

namespace foretell::onnx {

/// How elements of one TensorProto.DataType are stored.
struct DataType {
  std::string_view name;  ///< As in the schema, e.g. "FLOAT16".
  int bits = 0;           ///< Bits of one element; 0 for strings.
  bool is_floating_point = false;
  /// Field number of TensorProto for elements outside raw_data.
  std::size_t typed_field = 0;
  /// Used bits of one item of that field. Complex numbers use two items; types
  /// of 4 and 2 bits share one.
  int item_bits = 0;
  /// How foretell stores it: an element smaller than a byte occupies a whole
  /// one.
  std::optional<DType> dtype;
};

/// The row of `code`, or nullptr for UNDEFINED and unknown codes.
const DataType* FindDataType(std::int32_t code);

/// Bytes that `elements` (>= 0) of `type` (not a string) take in raw_data;
/// empty beyond int64.
std::optional<std::int64_t> RawBytes(const DataType& type,
                                     std::int64_t elements);

/// Items that `elements` of `type` take in its typed field. Requires that
/// RawBytes has a value.
std::int64_t TypedItems(const DataType& type, std::int64_t elements);

}  // namespace foretell::onnx
