#include "frontends/onnx/reader/tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "foretell/error.h"
#include "frontends/onnx/reader/data_types.h"
#include "frontends/onnx/reader/text.h"
#include "src/core/checked.h"
#include "src/core/failure.h"

namespace foretell::onnx {
namespace {

// Appends the low `bits` of each item, least significant first, as one stream
// that is filled up to whole bytes.
class BitPacker {
 public:
  explicit BitPacker(int bits) : bits_(bits) {}

  void Append(std::uint64_t item) {
    const std::uint64_t mask = bits_ == 64 ? ~0ull : (1ull << bits_) - 1;
    if (bits_ % 8 == 0) {
      for (int i = 0; i < bits_; i += 8) Push(item >> i);
      return;
    }
    pending_ |= (item & mask) << num_pending_;
    num_pending_ += bits_;
    for (; num_pending_ >= 8; num_pending_ -= 8, pending_ >>= 8) Push(pending_);
  }
  std::string Take() {
    if (num_pending_ > 0) Push(pending_);
    return std::move(bytes_);
  }

 private:
  void Push(std::uint64_t byte) { bytes_.push_back(static_cast<char>(byte)); }

  int bits_;
  std::uint64_t pending_ = 0;
  int num_pending_ = 0;
  std::string bytes_;
};

std::uint64_t BitsOf(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
std::uint64_t BitsOf(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
std::uint64_t BitsOf(std::int32_t value) {
  return static_cast<std::uint64_t>(value);
}
std::uint64_t BitsOf(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}
std::uint64_t BitsOf(std::uint64_t value) { return value; }

template <typename Items>
std::string Pack(const Items& items, int item_bits) {
  BitPacker packer(item_bits);
  for (const auto item : items) packer.Append(BitsOf(item));
  return packer.Take();
}

std::string PackTyped(const ::onnx::TensorProto& proto, const DataType& type) {
  switch (type.typed_field) {
    case kFloatData:
      return Pack(proto.float_data(), type.item_bits);
    case kInt32Data:
      return Pack(proto.int32_data(), type.item_bits);
    case kInt64Data:
      return Pack(proto.int64_data(), type.item_bits);
    case kDoubleData:
      return Pack(proto.double_data(), type.item_bits);
    case kUint64Data:
      return Pack(proto.uint64_data(), type.item_bits);
    default:
      return {};
  }
}

[[noreturn]] void WrongSize(std::int64_t found, std::int64_t needed,
                            const std::string& unit) {
  throw Corrupt("its payload has {} {}, its shape needs {}", found, unit,
                needed);
}

[[noreturn]] void HeldTwice() {
  throw Corrupt(
      "its elements are given twice, in raw_data and outside it, expected one "
      "of them");
}

std::string BytesUnit(bool exact) { return exact ? "bytes" : "bytes at most"; }

// `bytes` of raw_data, or a range of items of the typed field.
void CheckSkipped(const TensorLiteral& tensor, const DataType& type,
                  const SkippedPayload& payload) {
  const std::int64_t elements = tensor.NumElements();
  const std::int64_t raw_bytes = payload[kRawData].most;
  if (raw_bytes > 0 && payload[type.typed_field].most > 0) HeldTwice();
  if (raw_bytes > 0 && type.bits > 0) {
    const std::int64_t needed = RawBytes(type, elements).value_or(0);
    if (raw_bytes != needed) WrongSize(raw_bytes, needed, "bytes");
    return;
  }
  const ItemRange found = payload[type.typed_field];
  const std::int64_t needed = TypedItems(type, elements);
  if (needed >= found.least && needed <= found.most) return;
  const std::int64_t nearest = needed < found.least ? found.least : found.most;
  if (type.bits == 0) WrongSize(nearest, needed, "strings");
  WrongSize(nearest * type.item_bits / 8, needed * type.item_bits / 8,
            BytesUnit(found.least == found.most));
}

void TakeStrings(::onnx::TensorProto& proto, TensorLiteral& tensor) {
  tensor.strings.assign(
      std::make_move_iterator(proto.mutable_string_data()->begin()),
      std::make_move_iterator(proto.mutable_string_data()->end()));
  const auto found = static_cast<std::int64_t>(tensor.strings.size());
  const std::int64_t needed = tensor.NumElements();
  if (found != needed) WrongSize(found, needed, "strings");
}

void TakeBytes(::onnx::TensorProto& proto, const DataType& type,
               TensorLiteral& tensor) {
  tensor.bytes = PackTyped(proto, type);
  if (!proto.raw_data().empty()) {
    if (!tensor.bytes.empty()) HeldTwice();
    tensor.bytes = std::move(*proto.mutable_raw_data());
  }
  const auto found = static_cast<std::int64_t>(tensor.bytes.size());
  const std::int64_t needed = RawBytes(type, tensor.NumElements()).value_or(0);
  if (found != needed) WrongSize(found, needed, "bytes");
}

const DataType& CheckedDataType(const TensorLiteral& tensor) {
  const DataType* type = FindDataType(tensor.data_type);
  if (type == nullptr) {
    throw Error(
        tensor.data_type == 0 ? ErrorCode::kCorrupt : ErrorCode::kUnsupported,
        fmt::format("its data type {} is unknown, expected 1 to 28",
                    tensor.data_type));
  }
  return *type;
}

void FillPayload(::onnx::TensorProto& proto,
                 const std::vector<SkippedPayload>& skipped,
                 TensorLiteral& tensor) {
  CheckDims(tensor.dims);
  const DataType& type = CheckedDataType(tensor);
  if (!RawBytes(type, tensor.NumElements())) {
    throw Corrupt("its size exceeds 64 bits");
  }
  if (proto.data_location() == ::onnx::TensorProto::EXTERNAL) {
    tensor.payload = TensorLiteral::Payload::kExternal;
  } else if (proto.has_segment()) {
    tensor.payload = TensorLiteral::Payload::kSkipped;
    const auto index = static_cast<std::size_t>(proto.segment().begin());
    CheckSkipped(tensor, type, skipped.at(index));
  } else if (type.bits == 0) {
    TakeStrings(proto, tensor);
  } else {
    TakeBytes(proto, type, tensor);
  }
}

}  // namespace

void CheckDims(std::span<const std::int64_t> dims) {
  if (dims.size() > kMaxRank) {
    throw Corrupt("its rank is {}, expected at most {}", dims.size(), kMaxRank);
  }
  for (const std::int64_t dim : dims) {
    if (dim < 0) {
      throw Corrupt("dimension {} of {} is negative", dim, DimsText(dims));
    }
  }
  if (!CheckedProduct(dims)) {
    throw Corrupt("the number of elements of {} is beyond 64 bits",
                  DimsText(dims));
  }
}

TensorLiteral ConvertTensor(::onnx::TensorProto& proto,
                            const std::vector<SkippedPayload>& skipped) {
  TensorLiteral tensor;
  tensor.name = std::move(*proto.mutable_name());
  tensor.data_type = proto.data_type();
  tensor.dims.assign(proto.dims().begin(), proto.dims().end());
  InContext([&] { return "tensor " + TensorText(tensor); },
            [&] { FillPayload(proto, skipped, tensor); });
  return tensor;
}

}  // namespace foretell::onnx
