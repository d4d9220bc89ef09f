#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace foretell {

/// How several GPUs share a step. Batches are those of one GPU.
enum class ParallelKind : std::uint8_t {
  kOneGpu,
  kDdp,    ///< DistributedDataParallel: all of everything, gradients averaged.
  kZero1,  ///< DDP with ZeroRedundancyOptimizer: states of own parameters.
  /// fully_shard(reshard_after_forward=False): parameters, gradients and states
  /// are shards; gathered parameters stay in memory from forward to backward.
  kZero2,
  kFsdp,  ///< fully_shard: gathered parameters go after each block's pass.
  /// FullyShardedDataParallel, FSDP of PyTorch 1: the same with one flat
  /// parameter per block.
  kFsdp1,
  /// parallelize_module: linear layers by columns, then by rows; all GPUs get
  /// the same batch.
  kTensor,
};

/// The value of `--parallel`.
struct ParallelSpec {
  ParallelKind kind = ParallelKind::kOneGpu;
  int gpus = 1;  ///< At least 2 unless kOneGpu.
  /// gradient_as_bucket_view=True: gradients are views of DDP's buckets.
  bool bucket_view = false;
  /// Path of the modules that kFsdp, kFsdp1 and kZero2 wrap, as RecomputeBlocks
  /// accepts it; empty: modules whose path ends with the first number in it.
  std::string blocks = {};
  /// kTensor: the embedding table and the head are split by words.
  bool vocabulary = false;

  bool operator==(const ParallelSpec&) const = default;
};

/// True for kZero2, kFsdp and kFsdp1.
bool ShardsParameters(const ParallelSpec& spec);
/// True if GPUs share inference as well as training.
bool SharesInference(const ParallelSpec& spec);

/// "fsdp:8", "ddp:8,bucket-view", "fsdp:8,blocks=layers.*", "tp:8,vocabulary";
/// empty for kOneGpu.
std::string ToString(const ParallelSpec& spec);
/// Reads what ToString writes. Throws Error(kInvalidArgument) that begins with
/// `flag` for an unknown kind or option, and for fewer than 2 or more than
/// 65536 GPUs.
ParallelSpec ParseParallel(std::string_view flag, std::string_view text);

}  // namespace foretell
