#include "frontends/onnx/reader/wire.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "foretell/error.h"
#include "frontends/onnx/reader/mask.h"
#include "frontends/onnx/reader/wire_fields.h"

// An ONNX file is one Protobuf message, nearly all of it weights. Parsing it
// with Protobuf costs a copy of every weight, and Protobuf stops at 2 GiB. But
// every field on the wire states its length before its content, so the message
// can be walked from header to header without touching the weights.
//
// The walk copies the fields that the reader wants into a second, slim message,
// which Protobuf then parses. A message that lost something has a new length.
// It is only known once the message is copied, so five bytes are kept free
// before it and filled afterwards: a varint may be padded with zero groups.
//
// Whether a tensor is small can be seen only at its end (elements may be in
// many fields). It is therefore copied with payloads until their sum exceeds
// the limit, and then once more without; a payload beyond the limit itself is
// never copied. Masks are the exception: attention depends on what they hold,
// and the first elements of a weight show that it is not a mask.
//
// Alternatives: parsing everything with our own code saves 0.2 ms and a
// dependency, but means a second schema to maintain; a memory map saves the
// window of ByteSource, but a file that shrinks kills the process.

namespace foretell::onnx {
namespace {

enum WireType : std::uint8_t {
  kWireVarint = 0,
  kWireFixed64 = 1,
  kWireBytes = 2,
  kWireFixed32 = 5,
};

constexpr int kMaxVarintBytes = 10;
constexpr int kLengthBytes = 5;
constexpr std::uint32_t kSegmentField = 3;
constexpr std::uint32_t kSegmentBeginField = 1;
constexpr std::uint32_t kDataTypeField = 2;
// Protobuf cannot parse more.
constexpr size_t kMaxSlimBytes = std::numeric_limits<int>::max();
constexpr std::int64_t kLeastBudget = std::int64_t{256} << 20;
constexpr std::int64_t kBudgetPerByte = 24;
/// Masks of the largest size that a file may have; further ones are skipped.
constexpr std::int64_t kFullMasks = 4;
// A larger file changes nothing; keeps the product within int64.
constexpr std::int64_t kHuge = std::int64_t{1} << 50;

struct Range {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t size() const { return end - begin; }
};

struct Field {
  const FieldRule* rule;  ///< nullptr for an unknown field.
  std::uint32_t number;
  WireType wire;
  std::int64_t begin;  ///< Begin of its tag.
  Range value;         ///< Without tag and length.
};

bool IsPacked(FieldLayout layout) {
  return layout == FieldLayout::kPackedVarint ||
         layout == FieldLayout::kPackedFixed32 ||
         layout == FieldLayout::kPackedFixed64;
}

WireType WireTypeOfItem(FieldLayout layout) {
  switch (layout) {
    case FieldLayout::kVarint:
    case FieldLayout::kPackedVarint:
      return kWireVarint;
    case FieldLayout::kFixed32:
    case FieldLayout::kPackedFixed32:
      return kWireFixed32;
    case FieldLayout::kPackedFixed64:
      return kWireFixed64;
    case FieldLayout::kBytes:
      break;
  }
  return kWireBytes;
}

// Items in a field; for a packed list of varints at least and at most.
ItemRange CountItems(const Field& field) {
  const std::int64_t bytes = field.value.size();
  if (field.wire != kWireBytes) return {1, 1};
  switch (field.rule->layout) {
    case FieldLayout::kPackedVarint:
      return {(bytes + kMaxVarintBytes - 1) / kMaxVarintBytes, bytes};
    case FieldLayout::kPackedFixed32:
      return {bytes / 4, bytes / 4};
    case FieldLayout::kPackedFixed64:
      return {bytes / 8, bytes / 8};
    default:
      return {1, 1};
  }
}

void AppendVarint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) {
    out.push_back(static_cast<char>(value | 0x80));
  }
  out.push_back(static_cast<char>(value));
}

void AppendTag(std::uint32_t number, WireType wire, std::string& out) {
  AppendVarint(std::uint64_t{number} << 3 | wire, out);
}

class Scanner {
 public:
  Scanner(ByteSource& source, std::int64_t max_payload_bytes,
          std::int64_t max_mask_bytes)
      : source_(source),
        max_payload_bytes_(max_payload_bytes),
        max_mask_bytes_(max_mask_bytes),
        mask_bytes_left_(kFullMasks * max_mask_bytes),
        budget_(std::max(kLeastBudget,
                         kBudgetPerByte * std::min(source.size(), kHuge))) {}

  SlimModel Run() {
    CopyFields(MessageKind::kModel, {0, source_.size()}, 0);
    return std::move(slim_);
  }

 private:
  [[noreturn]] static void Fail(ErrorCode code, std::int64_t position,
                                const std::string& what);
  std::uint64_t ReadVarint(std::int64_t& position, std::int64_t end);
  Field ReadField(MessageKind kind, std::int64_t begin, std::int64_t end);
  Range ReadValue(const Field& field, MessageKind kind, std::int64_t position,
                  std::int64_t end);
  static void CheckWireType(const Field& field, MessageKind kind);
  static void CheckListLength(const Field& field, MessageKind kind);

  void CopyFields(MessageKind kind, Range range, int depth);
  void CopyTensor(Range range);
  bool CopyTensorUpTo(std::int64_t limit, Range range, SkippedPayload& payload);
  bool IsMask(Range range);
  bool IsMaskPayload(std::int32_t data_type, Range payload);
  void CopyTensorWithoutPayload(Range range);
  void Descend(const Field& field, int depth);
  void Keep(const Field& field);
  void Charge(const Field& field);

  ByteSource& source_;
  std::int64_t max_payload_bytes_;
  std::int64_t max_mask_bytes_;
  std::int64_t mask_bytes_left_;  ///< For the masks of the whole file.
  std::int64_t budget_;
  std::int64_t memory_ = 0;  ///< Estimate for what was copied.
  SlimModel slim_;
};

void Scanner::Fail(ErrorCode code, std::int64_t position,
                   const std::string& what) {
  throw Error(code, fmt::format("byte {}: {}", position, what));
}

std::string NameOf(const Field& field, MessageKind kind) {
  return field.rule == nullptr
             ? fmt::format("field {} of {}", field.number, MessageName(kind))
             : fmt::format("field '{}' of {}", field.rule->name,
                           MessageName(kind));
}

std::uint64_t Scanner::ReadVarint(std::int64_t& position, std::int64_t end) {
  const std::string_view ahead = source_.Ahead(position);
  const std::int64_t available =
      std::min(static_cast<std::int64_t>(ahead.size()), end - position);
  std::uint64_t value = 0;
  for (int i = 0; i < kMaxVarintBytes; ++i) {
    if (i >= available) {
      Fail(ErrorCode::kCorrupt, position,
           "a number is cut off by the end of its message");
    }
    const auto byte = static_cast<std::uint8_t>(ahead[static_cast<size_t>(i)]);
    value |= std::uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      position += i + 1;
      return value;
    }
  }
  Fail(ErrorCode::kCorrupt, position, "a number has more than 10 bytes");
}

Field Scanner::ReadField(MessageKind kind, std::int64_t begin,
                         std::int64_t end) {
  std::int64_t position = begin;
  const std::uint64_t tag = ReadVarint(position, end);
  const std::uint64_t number = tag >> 3;
  if (number == 0 || tag > std::numeric_limits<std::uint32_t>::max()) {
    Fail(ErrorCode::kCorrupt, begin,
         fmt::format("field number {} in {} is out of range", number,
                     MessageName(kind)));
  }
  Field field = {FindFieldRule(kind, static_cast<std::uint32_t>(number)),
                 static_cast<std::uint32_t>(number),
                 static_cast<WireType>(tag & 7),
                 begin,
                 {}};
  CheckWireType(field, kind);
  field.value = ReadValue(field, kind, position, end);
  CheckListLength(field, kind);
  return field;
}

void Scanner::CheckWireType(const Field& field, MessageKind kind) {
  const bool known = field.wire == kWireVarint || field.wire == kWireFixed64 ||
                     field.wire == kWireBytes || field.wire == kWireFixed32;
  const std::string found = fmt::format(" has wire type {}", field.wire);
  if (!known) {
    Fail(ErrorCode::kCorrupt, field.begin, NameOf(field, kind) + found);
  }
  if (field.rule == nullptr) return;
  const WireType expected = WireTypeOfItem(field.rule->layout);
  if (field.wire == expected) return;
  if (field.wire == kWireBytes && IsPacked(field.rule->layout)) return;
  Fail(ErrorCode::kCorrupt, field.begin,
       fmt::format("{}{}, expected {}", NameOf(field, kind), found, expected));
}

void Scanner::CheckListLength(const Field& field, MessageKind kind) {
  if (field.rule == nullptr || field.wire != kWireBytes) return;
  const FieldLayout layout = field.rule->layout;
  const int width = layout == FieldLayout::kPackedFixed32   ? 4
                    : layout == FieldLayout::kPackedFixed64 ? 8
                                                            : 1;
  if (field.value.size() % width == 0) return;
  Fail(ErrorCode::kCorrupt, field.begin,
       fmt::format("{} has {} bytes, expected a multiple of {}",
                   NameOf(field, kind), field.value.size(), width));
}

Range Scanner::ReadValue(const Field& field, MessageKind kind,
                         std::int64_t position, std::int64_t end) {
  std::uint64_t length = 0;
  std::int64_t begin = position;
  switch (field.wire) {
    case kWireVarint:
      ReadVarint(position, end);
      return {begin, position};
    case kWireFixed32:
      length = 4;
      break;
    case kWireFixed64:
      length = 8;
      break;
    case kWireBytes:
      length = ReadVarint(position, end);
      begin = position;
      break;
  }
  const std::int64_t remaining = end - begin;
  if (length > static_cast<std::uint64_t>(remaining)) {
    Fail(ErrorCode::kCorrupt, field.begin,
         fmt::format("{} claims {} bytes, but its message has only {} left",
                     NameOf(field, kind), length, remaining));
  }
  return {begin, begin + static_cast<std::int64_t>(length)};
}

void Scanner::CopyFields(MessageKind kind, Range range, int depth) {
  if (depth > kMaxNesting) {
    Fail(ErrorCode::kUnsupported, range.begin,
         fmt::format("messages are nested more than {} deep", kMaxNesting));
  }
  for (std::int64_t at = range.begin; at < range.end;) {
    const Field field = ReadField(kind, at, range.end);
    at = field.value.end;
    if (field.rule == nullptr) continue;
    if (field.rule->action == FieldAction::kDescend) {
      Descend(field, depth);
    } else if (field.rule->action == FieldAction::kKeep) {
      Keep(field);
    }
  }
}

void Scanner::Descend(const Field& field, int depth) {
  Charge(field);
  AppendTag(field.number, kWireBytes, slim_.bytes);
  const size_t length_at = slim_.bytes.size();
  slim_.bytes.append(kLengthBytes, '\0');
  if (field.rule->child == MessageKind::kTensor) {
    CopyTensor(field.value);
  } else {
    CopyFields(field.rule->child, field.value, depth + 1);
  }
  size_t length = slim_.bytes.size() - length_at - kLengthBytes;
  if (slim_.bytes.size() > kMaxSlimBytes) {
    Fail(ErrorCode::kUnsupported, field.begin,
         "the model without its weights exceeds 2 GiB");
  }
  for (size_t i = 0; i < kLengthBytes; ++i, length >>= 7) {
    const unsigned continues = i + 1 < kLengthBytes ? 0x80 : 0;
    slim_.bytes[length_at + i] = static_cast<char>((length & 0x7f) | continues);
  }
}

void Scanner::CopyTensor(Range range) {
  const size_t begin = slim_.bytes.size();
  SkippedPayload payload = {};
  if (CopyTensorUpTo(max_payload_bytes_, range, payload)) return;
  slim_.bytes.resize(begin);
  if (IsMask(range)) {
    CopyTensorUpTo(max_mask_bytes_, range, payload);
    return;
  }
  CopyTensorWithoutPayload(range);

  std::string segment;
  AppendTag(kSegmentBeginField, kWireVarint, segment);
  AppendVarint(slim_.skipped.size(), segment);
  AppendTag(kSegmentField, kWireBytes, slim_.bytes);
  AppendVarint(segment.size(), slim_.bytes);
  slim_.bytes += segment;
  slim_.skipped.push_back(payload);
}

/// True for a tensor whose elements are in one raw_data and are a mask; then
/// also counts them.
bool Scanner::IsMask(Range range) {
  std::int32_t data_type = 0;
  Range raw = {0, 0};
  for (std::int64_t at = range.begin; at < range.end;) {
    const Field field = ReadField(MessageKind::kTensor, at, range.end);
    at = field.value.end;
    if (field.rule == nullptr) continue;
    if (field.number == kDataTypeField) {
      std::int64_t position = field.value.begin;
      data_type =
          static_cast<std::int32_t>(ReadVarint(position, field.value.end));
    } else if (field.rule->action == FieldAction::kPayload) {
      if (field.number != kRawData || raw.size() > 0) return false;
      raw = field.value;
    }
  }
  const std::int64_t most = std::min(max_mask_bytes_, mask_bytes_left_);
  if (raw.size() > most || !IsMaskPayload(data_type, raw)) return false;
  mask_bytes_left_ -= raw.size();
  return true;
}

bool Scanner::IsMaskPayload(std::int32_t data_type, Range payload) {
  const auto size = static_cast<std::int64_t>(MaskElementBytes(data_type));
  if (size == 0 || payload.size() % size != 0) return false;
  for (std::int64_t at = payload.begin; at < payload.end;) {
    const std::string_view ahead = source_.Ahead(at);
    const std::int64_t left =
        std::min(static_cast<std::int64_t>(ahead.size()), payload.end - at);
    const std::string_view elements =
        ahead.substr(0, static_cast<size_t>(left / size * size));
    const bool begins = at != payload.begin || BeginsMask(data_type, elements);
    if (!begins || !HoldsMask(data_type, elements)) return false;
    at += static_cast<std::int64_t>(elements.size());
  }
  return true;
}

// Returns whether the payload is within the limit; counts it into `payload`.
bool Scanner::CopyTensorUpTo(std::int64_t limit, Range range,
                             SkippedPayload& payload) {
  std::int64_t payload_bytes = 0;
  for (std::int64_t at = range.begin; at < range.end;) {
    const Field field = ReadField(MessageKind::kTensor, at, range.end);
    at = field.value.end;
    if (field.rule == nullptr) continue;
    if (field.rule->action == FieldAction::kRefuse) {
      Fail(ErrorCode::kUnsupported, field.begin,
           NameOf(field, MessageKind::kTensor) + " is not supported");
    }
    if (field.rule->action == FieldAction::kPayload) {
      ItemRange& items = payload[field.number];
      const ItemRange more = CountItems(field);
      items = field.number == kRawData
                  ? ItemRange{field.value.size(), field.value.size()}
                  : ItemRange{items.least + more.least, items.most + more.most};
      payload_bytes += field.value.size();
      if (payload_bytes <= limit) Keep(field);
    } else if (field.rule->action == FieldAction::kKeep) {
      Keep(field);
    }
  }
  return payload_bytes <= limit;
}

void Scanner::CopyTensorWithoutPayload(Range range) {
  for (std::int64_t at = range.begin; at < range.end;) {
    const Field field = ReadField(MessageKind::kTensor, at, range.end);
    at = field.value.end;
    if (field.rule && field.rule->action == FieldAction::kKeep) Keep(field);
  }
}

void Scanner::Keep(const Field& field) {
  Charge(field);
  source_.Append(field.begin, field.value.end - field.begin, slim_.bytes);
}

void Scanner::Charge(const Field& field) {
  memory_ += CountItems(field).most * field.rule->memory;
  if (field.rule->action != FieldAction::kDescend) {
    memory_ += 2 * field.value.size();
  }
  if (memory_ > budget_) {
    Fail(ErrorCode::kUnsupported, field.begin,
         fmt::format("the model without its weights exceeds {} MiB of memory",
                     budget_ >> 20));
  }
}

}  // namespace

SlimModel ScanModel(ByteSource& source, std::int64_t max_payload_bytes,
                    std::int64_t max_mask_bytes) {
  return Scanner(source, max_payload_bytes, max_mask_bytes).Run();
}

}  // namespace foretell::onnx
