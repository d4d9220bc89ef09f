#include "src/parallel/shard_sizes.h"

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
  return ShardType(index).Bytes() * gpus_;
}

std::int64_t ShardSizes::WholeBytes(
    const std::vector<ParameterIndex>& indices) const {
  std::int64_t bytes = 0;
  for (const ParameterIndex index : indices) bytes += WholeBytes(index);
  return bytes;
}

TensorType ShardSizes::FlatType(const std::vector<ParameterIndex>& indices,
                                std::int64_t bytes) const {
  const DType dtype = TypeOf(indices.front()).dtype;
  return {dtype, {bytes / ByteWidth(dtype)}};
}

}  // namespace foretell::parallel
