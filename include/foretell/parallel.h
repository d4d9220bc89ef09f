#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "foretell/graph.h"

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
  /// torch.distributed.pipelining: each GPU has blocks of its own and sends
  /// their results to the next; a batch goes through in micro-batches.
  kPipeline,
  /// context_parallel: each GPU has a part of every sequence, and attention
  /// passes keys and values around.
  kContext,
  /// Each GPU has a batch and some experts of its own; tokens go to the GPUs of
  /// their experts and back.
  kExpert,
};

/// The order in which a GPU of a pipeline runs its passes.
enum class PipelineSchedule : std::uint8_t {
  k1F1B,        ///< Backward passes as soon as they can start.
  kGpipe,       ///< All forward passes before the first backward pass.
  kInterleaved  ///< 1F1B with several stages on each GPU.
};

/// The value of `--parallel`.
struct ParallelSpec {
  ParallelKind kind = ParallelKind::kOneGpu;
  int gpus = 1;  ///< At least 2 unless kOneGpu.
  /// kFsdp, kFsdp1: groups of GPUs each of which has all shards (HSDP, a mesh
  /// of two dimensions); divides `gpus`.
  int replicas = 1;
  /// gradient_as_bucket_view=True: gradients are views of DDP's buckets.
  bool bucket_view = false;
  /// Path of the modules that kFsdp, kFsdp1 and kZero2 wrap, as RecomputeBlocks
  /// accepts it; empty: modules whose path ends with the first number in it.
  std::string blocks = {};
  /// kTensor: the embedding table and the head are split by words.
  bool vocabulary = false;
  /// kTensor: norms and what else lies between layers run on tokens of a GPU's
  /// own, SequenceParallel.
  bool sequence = false;
  /// kFsdp, kFsdp1: what is trained is sharded in FP32 and gathered in its own
  /// type: MixedPrecision(param_dtype) around parameters in FP32, as
  /// accelerate's mixed_precision has it.
  bool float_shards = false;
  /// kFsdp, kFsdp1: type in which gradients are reduced (reduce_dtype); empty:
  /// their own.
  std::optional<Precision> reduce = {};
  /// kFsdp1: recomputed blocks are those of
  /// torch.utils.checkpoint(use_reentrant=True).
  bool reentrant = false;
  /// kFsdp1: use_orig_params=True, so that a block's flat parameter may have
  /// frozen parts.
  bool orig_params = false;
  /// kFsdp, kFsdp1: shards, their gradients and states lie on the host, which
  /// runs the optimizer: CPUOffloadPolicy, CPUOffload(offload_params=True).
  bool cpu_offload = false;
  /// kZero2, kFsdp, kFsdp1: of several batches only the last one's backward
  /// pass exchanges gradients, those before keep them whole: no_sync(),
  /// set_requires_gradient_sync(False). kDdp and kZero1 always do.
  bool no_sync = false;
  PipelineSchedule schedule = PipelineSchedule::k1F1B;  ///< kPipeline.
  int stages_per_gpu = 1;  ///< At least 2 for kInterleaved, else 1.
  /// kPipeline: parts of a batch; 0: as many as GPUs.
  int micro_batches = 0;
  /// kPipeline: paths of the modules with which stages begin, except for the
  /// first stage, separated by colons; empty: stages of similar arithmetic.
  std::string split = {};
  /// kContext: keys and values go from GPU to GPU instead of to all at once,
  /// set_rotate_method("alltoall").
  bool all_to_all = false;
  /// kContext: parts are consecutive, so that the last GPU has most of a causal
  /// attention's work: enable_load_balance = False.
  bool unbalanced = false;
  /// Plans for groups of kContext and kExpert: GPUs of such a group; divides
  /// ShardGroup.
  int batch_group = 1;
  /// kExpert: tokens for the experts of this GPU, in percent of an equal share.
  int imbalance = 100;
  /// kTensor, kPipeline, kContext and kExpert: the GPUs are one of `copies`
  /// such groups, each with a batch of its own (kExpert: with one on each GPU),
  /// which share the step by this plan, to whose kind options then apply;
  /// docs/parallel.md lists the pairs. kPipeline: stages are such groups.
  /// kOneGpu: there is one group.
  ParallelKind data = ParallelKind::kOneGpu;
  /// At least 2 unless `data` is kOneGpu or for kContext and kExpert.
  int copies = 1;

  bool operator==(const ParallelSpec&) const = default;
};

/// How the GPUs of a group share a batch.
ParallelSpec ModelPart(const ParallelSpec& spec);
/// How groups share a step; kOneGpu if there is one.
ParallelSpec DataPart(const ParallelSpec& spec);

/// True for kZero2, kFsdp and kFsdp1, of a group or of groups.
bool ShardsParameters(const ParallelSpec& spec);
/// True if GPUs of a group share sequences, so that each has a part of the
/// batch's tokens.
bool SharesSequences(const ParallelSpec& spec);
/// True if GPUs share inference as well as training.
bool SharesInference(const ParallelSpec& spec);

/// GPUs among which a plan that is not combined splits parameters, one group of
/// HSDP.
int ShardGroup(const ParallelSpec& spec);

/// Passes over the network in a step; 1 unless kPipeline.
int MicroBatchesOf(const ParallelSpec& spec);

/// "fsdp:8", "hsdp:2x4", "ddp:8,bucket-view", "fsdp:8,blocks=layers.*",
/// "fsdp1:8,fp32-shards,reduce=bf16", "tp:8,vocabulary",
/// "pp:4,schedule=interleaved:2,microbatches=8", "cp:8,all-to-all",
/// "ep:4,imbalance=150", "tp:2+fsdp:4"; empty for kOneGpu.
std::string ToString(const ParallelSpec& spec);
/// Reads what ToString writes, and "zero3:8" as "fsdp:8". Throws
/// Error(kInvalidArgument) that begins with `flag` for an unknown kind or
/// option, and for fewer than 2 or more than 65536 GPUs, of HSDP in either
/// dimension.
ParallelSpec ParseParallel(std::string_view flag, std::string_view text);

}  // namespace foretell
