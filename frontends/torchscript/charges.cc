#include "frontends/torchscript/charges.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "frontends/torchscript/container_bytes.h"
#include "frontends/torchscript/run_budget.h"

namespace foretell::torchscript {
namespace {

/// Size of the axis `dim` of a tensor, 0 if there is none.
std::int64_t SizeOf(const c10::IValue& value, const c10::IValue& dim) {
  if (!value.isTensor() || !value.toTensor().defined() || !dim.isInt()) {
    return 0;
  }
  const at::Tensor& tensor = value.toTensor();
  const std::int64_t axis =
      dim.toInt() < 0 ? dim.toInt() + tensor.dim() : dim.toInt();
  return axis < 0 || axis >= tensor.dim() ? 0 : tensor.size(axis);
}

void ChargeTensors(std::int64_t count) {
  ChargeBytes(CappedProduct(kTensorBytes, count));
}

}  // namespace

void ChargeContainers(Values values) { ChargeBytes(BytesOf(values)); }

void ChargeContent(Values values) {
  for (const c10::IValue& value : values) ChargeDeep(value, kNumberBytes);
}

void ChargeSorting(Values values) {
  // Comparisons per element, for lists of up to 2^20 elements.
  for (int i = 0; i < 20; ++i) ChargeContent(values);
}

void ChargeElement(Values values) {
  ChargeBytes(kGrowthBytes);
  for (const c10::IValue& value : values) {
    if (value.isString()) ChargeBytes(BytesOf(value));
  }
}

void ChargeEntry(Values values) {
  ChargeBytes(kEntryBytes);
  ChargeElement(values);
}

void ChargeDepth(Values values) {
  int levels = 0;
  for (const c10::IValue& value : values) {
    levels = std::max(levels, ChargeDeep(value, /*number_bytes=*/0));
  }
  ChargeNesting(levels);
}

void ChargeCopies(Values values) {
  std::int64_t count = 1;
  for (const c10::IValue& value : values) {
    if (value.isInt()) count = std::max(count, value.toInt());
  }
  const std::int64_t content = BytesOf(values) - kObjectBytes;
  ChargeBytes(CappedProduct(std::max(content, kElementBytes), count));
}

void ChargeStrings(Values values) {
  std::int64_t product = 1;
  std::int64_t characters = 0;
  for (const c10::IValue& value : values) {
    const std::int64_t bytes = BytesOf(value) - kObjectBytes;
    if (bytes <= 0) continue;
    product = CappedProduct(product, bytes);
    if (value.isString()) characters = std::max(characters, bytes);
  }
  ChargeBytes(product);
  ChargeBytes(CappedProduct(kCharacterBytes, characters));
}

void ChargeUnbind(Values values) {
  ChargeTensors(SizeOf(values[0], values.back()));
}

void ChargeSplit(Values values) {
  ChargeContainers(values);
  if (!values[1].isInt() || values[1].toInt() <= 0) return;
  ChargeTensors(SizeOf(values[0], values.back()) / values[1].toInt() + 1);
}

void ChargeChunks(Values values) {
  if (!values[1].isInt()) return;
  ChargeTensors(std::min(SizeOf(values[0], values.back()), values[1].toInt()));
}

void ChargeSections(Values values) {
  ChargeContainers(values);
  if (values[1].isInt()) ChargeTensors(values[1].toInt());
}

void ChargeNumbers(Values values) {
  if (!values[0].isTensor() || !values[0].toTensor().defined()) return;
  ChargeBytes(CappedProduct(kElementBytes, values[0].toTensor().numel()));
}

void ChargeReplacement(Values values) {
  // Each occurrence moves the rest of the string, 16 bytes or more at a time.
  const std::int64_t length = BytesOf(values[0]) - kObjectBytes;
  ChargeBytes(CappedProduct(length, length) / 16);
  ChargeStrings(values);
}

}  // namespace foretell::torchscript
