#pragma once

#include <cstddef>
#include <cstdint>

namespace foretell {

/// Limits that every graph keeps, so that its readers may multiply what they
/// find: sizes of one tensor with each other and with the bytes of an element,
/// bytes of tensors with a small factor. Nothing that a GPU could hold comes
/// near.
inline constexpr std::size_t kMaxRank = 64;
/// Elements of a tensor; dimensions of size 0 count as 1, since strides and
/// products of other dimensions do not see them.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 56;
/// Bytes of all storages together, of all operands and results of one operator,
/// and of what GPUs exchange in one go.
inline constexpr std::int64_t kMaxTotalBytes = std::int64_t{1} << 60;
/// Multiply-accumulates of a step.
inline constexpr std::int64_t kMaxMacs = std::int64_t{1} << 62;

}  // namespace foretell
