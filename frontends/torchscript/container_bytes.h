#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>

namespace foretell::torchscript {

/// What TorchScript's values take in memory, in bytes, rounded up.
inline constexpr std::int64_t kObjectBytes = 64;
inline constexpr std::int64_t kElementBytes = 16;
/// While a growing list is copied it exists twice, with room to spare.
inline constexpr std::int64_t kGrowthBytes = 64;
/// Measured: 236 while a dictionary grows.
inline constexpr std::int64_t kEntryBytes = 256;
/// A string of one character, as an element of a list.
inline constexpr std::int64_t kCharacterBytes = 96;
/// A tensor without its data, but with what a trace notes about it.
inline constexpr std::int64_t kTensorBytes = 256;
/// A number of a tensor as text, or as an element of a list.
inline constexpr std::int64_t kNumberBytes = 64;

/// a * b, at most 2^40; 0 if one of them is not positive.
std::int64_t CappedProduct(std::int64_t a, std::int64_t b);

/// Bytes of a string, list, dictionary or tuple, a list's strings included, but
/// not what else its elements hold; 0 for other values.
std::int64_t BytesOf(const c10::IValue& value);
std::int64_t BytesOf(at::ArrayRef<c10::IValue> values);

/// Charges `value` and all that it holds to the run's bytes (run_budget.h),
/// what is shared as often as it is met, and `number_bytes` for every number of
/// a tensor that has some. Returns how many levels of containers it has.
int ChargeDeep(const c10::IValue& value, std::int64_t number_bytes);

}  // namespace foretell::torchscript
