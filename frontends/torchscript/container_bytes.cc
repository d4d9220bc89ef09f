#include "frontends/torchscript/container_bytes.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "frontends/torchscript/run_budget.h"

namespace foretell::torchscript {
namespace {

constexpr std::int64_t kCap = std::int64_t{1} << 40;

std::int64_t Bytes(std::int64_t each, std::size_t count) {
  return CappedProduct(each, static_cast<std::int64_t>(count));
}

std::int64_t BytesOfList(const c10::IValue& list) {
  // Lists of numbers are stored as IValues too.
  const at::ArrayRef<c10::IValue> elements = list.toListRef();
  if (elements.empty()) return kObjectBytes;
  if (elements[0].isTensor()) return Bytes(kTensorBytes, elements.size());
  std::int64_t bytes = kObjectBytes + Bytes(kElementBytes, elements.size());
  if (!elements[0].isString()) return bytes;
  for (const c10::IValue& element : elements) {
    if (element.isString()) bytes += Bytes(1, element.toStringRef().size());
  }
  return bytes;
}

class DeepCharge {
 public:
  explicit DeepCharge(std::int64_t number_bytes)
      : number_bytes_(number_bytes) {}

  /// Returns the levels of containers from `value` inwards.
  int Visit(const c10::IValue& value, int level) const {
    // What nests deeper than this is refused here, before the stack ends.
    if (level >= kMaxNesting) ChargeNesting(level + 1);
    ChargeBytes(kElementBytes + BytesOf(value));
    if (value.isTensor()) ChargeNumbers(value.toTensor());
    if (value.isList()) return All(value.toListRef(), level + 1);
    if (value.isTuple()) return All(value.toTupleRef().elements(), level + 1);
    if (value.isObject()) return All(value.toObjectRef().slots(), level + 1);
    if (value.isGenericDict()) return Entries(value, level + 1);
    return 0;
  }

 private:
  void ChargeNumbers(const at::Tensor& tensor) const {
    if (!tensor.defined() || tensor.is_meta()) return;
    ChargeBytes(CappedProduct(number_bytes_, tensor.numel()));
  }

  int All(at::ArrayRef<c10::IValue> values, int level) const {
    int levels = 0;
    for (const c10::IValue& value : values) {
      levels = std::max(levels, Visit(value, level));
    }
    return levels + 1;
  }

  int Entries(const c10::IValue& dictionary, int level) const {
    int levels = 0;
    for (const auto& entry : dictionary.toGenericDict()) {
      levels = std::max(
          {levels, Visit(entry.key(), level), Visit(entry.value(), level)});
    }
    return levels + 1;
  }

  std::int64_t number_bytes_;
};

}  // namespace

std::int64_t CappedProduct(std::int64_t a, std::int64_t b) {
  if (a <= 0 || b <= 0) return 0;
  return a > kCap / b ? kCap : a * b;
}

std::int64_t BytesOf(const c10::IValue& value) {
  if (value.isString()) {
    return kObjectBytes + Bytes(1, value.toStringRef().size());
  }
  if (value.isList()) return BytesOfList(value);
  if (value.isTuple()) {
    return kObjectBytes +
           Bytes(kElementBytes, value.toTupleRef().elements().size());
  }
  if (value.isGenericDict()) {
    return kObjectBytes + Bytes(kEntryBytes, value.toGenericDict().size());
  }
  return 0;
}

std::int64_t BytesOf(at::ArrayRef<c10::IValue> values) {
  std::int64_t bytes = 0;
  for (const c10::IValue& value : values) bytes += BytesOf(value);
  return bytes;
}

int ChargeDeep(const c10::IValue& value, std::int64_t number_bytes) {
  return DeepCharge(number_bytes).Visit(value, /*level=*/0);
}

}  // namespace foretell::torchscript
