#pragma once

#include <cstddef>
#include <cstdint>

namespace foretell {

/// Limits of every graph, so that its readers may multiply without overflow:
/// sizes of one tensor with each other and with the bytes of an element, bytes
/// of tensors with a small factor. They are far above anything that fits a GPU.
inline constexpr std::size_t kMaxRank = 64;
/// Elements of a tensor; dimensions of size 0 count as 1, because strides and
/// products of other dimensions ignore them.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 56;
/// Bytes of all storages together, of all operands and results of one operator,
/// and of an exchange between GPUs.
inline constexpr std::int64_t kMaxTotalBytes = std::int64_t{1} << 60;
/// Multiply-accumulates of a step.
inline constexpr std::int64_t kMaxMacs = std::int64_t{1} << 62;

}  // namespace foretell
