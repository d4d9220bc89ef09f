#include "src/parallel/shard_sizes.h"

#include <fmt/core.h>

#include <limits>

#include "foretell/error.h"
#include "src/core/checked.h"
#include "src/graph/limits.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {

const TensorType& ShardSizes::TypeOf(ParameterIndex index) const {
  return graph_.value(facts_.parameters[IndexOf(index)].value).type;
}

TensorType ShardSizes::ShardType(ParameterIndex index) const {
  TensorType type = TypeOf(index);
  if (type.shape.empty()) return type;
  type.shape[0] = (type.shape[0] + gpus_ - 1) / gpus_;
  return type;
}

std::int64_t ShardSizes::WholeBytes(ParameterIndex index) const {
  const auto bytes = CheckedMul(ShardType(index).Bytes(), gpus_);
  return RequireBytes(bytes.value_or(std::numeric_limits<std::int64_t>::max()));
}

std::int64_t ShardSizes::WholeBytes(
    const std::vector<ParameterIndex>& indices) const {
  std::int64_t bytes = 0;
  for (const ParameterIndex index : indices) {
    bytes = RequireBytes(bytes + WholeBytes(index));
  }
  return bytes;
}

std::int64_t ShardSizes::FlatBytes(
    const std::vector<ParameterIndex>& indices) const {
  std::int64_t bytes = 0;
  for (const ParameterIndex index : indices) {
    bytes = RequireBytes(bytes + TypeOf(index).Bytes());
  }
  const std::int64_t row =
      std::int64_t{gpus_} * ByteWidth(TypeOf(indices.front()).dtype);
  return (bytes + row - 1) / row * row;
}

std::int64_t ShardSizes::RequireBytes(std::int64_t bytes) const {
  if (bytes <= kMaxTotalBytes) return bytes;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("parameters, padded to equal parts of {} GPUs, have "
                          "more than 2^60 bytes",
                          gpus_));
}

TensorType ShardSizes::FlatType(const std::vector<ParameterIndex>& indices,
                                std::int64_t bytes) const {
  const DType dtype = TypeOf(indices.front()).dtype;
  return {dtype, {bytes / ByteWidth(dtype)}};
}

}  // namespace foretell::parallel
