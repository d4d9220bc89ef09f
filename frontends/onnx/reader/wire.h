#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "frontends/onnx/reader/byte_source.h"

namespace foretell::onnx {

/// Field numbers of TensorProto that hold elements.
inline constexpr size_t kFloatData = 4;
inline constexpr size_t kInt32Data = 5;
inline constexpr size_t kStringData = 6;
inline constexpr size_t kInt64Data = 7;
inline constexpr size_t kRawData = 9;
inline constexpr size_t kDoubleData = 10;
inline constexpr size_t kUint64Data = 11;

/// Deepest nesting of messages that is read; a nested subgraph adds three
/// levels.
inline constexpr int kMaxNesting = 96;

/// How many items a payload field holds. A skipped list of varints is not
/// parsed: each takes one to ten bytes, so its number is a range.
struct ItemRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// Sizes of a payload that was skipped: bytes in [kRawData], items elsewhere,
/// by field number of TensorProto.
using SkippedPayload = std::array<ItemRange, kUint64Data + 1>;

/// A serialized ModelProto reduced to the fields that the reader uses.
struct SlimModel {
  std::string bytes;
  /// Payloads left out of `bytes`. The tensor of skipped[k] has the field
  /// segment.begin = k (a segment in the file itself is refused).
  std::vector<SkippedPayload> skipped;
};

/// Walks over the serialized ModelProto in `source` and copies the fields that
/// the reader uses. Tensors whose payload fields take more than
/// `max_payload_bytes` on the wire, wherever they are nested, lose them, unless
/// they are masks of at most `max_mask_bytes` (mask.h: MayBeMask) in raw_data.
/// Documentation, metadata, value infos of inner values, training graphs and
/// unknown fields are dropped.
///
/// Cost: time and memory O(bytes kept + fields passed), regardless of the size
/// of the payloads. Reads little more than the beginning of a payload in
/// raw_data that is not a mask.
///
/// Throws Error, its message starting with the byte's offset: kCorrupt for
/// anything but well-formed fields of the schema, kUnsupported beyond
/// kMaxNesting, for segmented tensors, and when the parsed structure would take
/// more memory than 256 MiB and 24 times the source; kIo.
SlimModel ScanModel(ByteSource& source, std::int64_t max_payload_bytes,
                    std::int64_t max_mask_bytes);

}  // namespace foretell::onnx
