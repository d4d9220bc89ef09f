#include "src/parallel/shard_sizes.h"

#include <fmt/core.h>

#include <limits>

#include "foretell/error.h"
#include "src/core/checked.h"
#include "src/graph/limits.h"
#include "src/parallel/expert_paths.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {

const TensorType& ShardSizes::TypeOf(ParameterIndex index) const {
  return graph_.value(facts_.parameters[IndexOf(index)].value).type;
}

int ShardSizes::GpusOf(ParameterIndex index) const {
  if (expert_gpus_ == 1) return gpus_;
  const StorageId storage = facts_.parameters[IndexOf(index)].storage;
  const bool is_shared = !ExpertsIn(graph_.storage(storage).label).empty();
  return is_shared ? gpus_ / expert_gpus_ : gpus_;
}

TensorType ShardSizes::ShardType(ParameterIndex index) const {
  TensorType type = TypeOf(index);
  if (type.shape.empty()) return type;
  type.shape[0] = CeilDiv(type.shape[0], std::int64_t{GpusOf(index)});
  return type;
}

DType ShardSizes::OwnDType(ParameterIndex index) const {
  const bool is_trained = facts_.parameters[IndexOf(index)].gradient != kNone;
  return spec_.float_shards && is_trained ? DType::kF32 : TypeOf(index).dtype;
}

DType ShardSizes::ReducedDType(ParameterIndex index) const {
  if (!spec_.reduce) return TypeOf(index).dtype;
  if (*spec_.reduce == Precision::kFp32) return DType::kF32;
  return *spec_.reduce == Precision::kBf16 ? DType::kBF16 : DType::kF16;
}

std::int64_t ShardSizes::WholeBytes(ParameterIndex index) const {
  const auto bytes = CheckedMul(ShardType(index).Bytes(), GpusOf(index));
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
      std::int64_t{GpusOf(indices)} * ByteWidth(TypeOf(indices.front()).dtype);
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
