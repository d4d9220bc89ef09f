#include "src/cost/attention_time.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "src/cost/padded.h"
#include "src/cost/roofline.h"
#include "src/cost/tensor_convolution.h"

// Fused attention, as in flash attention. Many queries (prefill, images)
// are cut into blocks of 128, each of which goes over its keys in steps of 64:
//
//   efficiency = 0.55 * keys / (keys + 60), of what a block of queries reads,
//                whole blocks and steps
//
// In 16 bits a head is padded to a multiple of 32 elements: heads of 40 cost as
// much as heads of 64.
//
// FlashAttention 1, before PyTorch 2.2, pads heads to powers of two and reaches
// no more than
//
//   4.8 FLOP in products per FLOP of the FP32 lanes, which its softmax is bound
//   by
//
// from SDXL's U-Net on an A100 under PyTorch 2.1: 30 % of the peak, which its
// successor's authors report too (30 to 50 %, arXiv:2307.08691). GeForce cards
// have the same lanes with a third of the peak and are not held up. Hopper has
// twice the lanes with the same number of units for exponentials. There it
// reaches the same share of Ampere's instruction (tensor_convolution.h) as of
// an A100, 0.30, as training of MPTs on H100s of up to 65,536 tokens confirms
// (score_sharded_training.py).
//
// On Hopper and B200 PyTorch runs flash attention 2, which was not written for
// their tensor cores and reaches 35 % of an H100's peak (FlashAttention-3,
// arXiv:2407.08608). With cuDNN 9.19 it runs cuDNN's in 16 bits, at 0.49.
//
// f32 and heads of more than 256 elements have none of these but PyTorch's
// memory-efficient kernel, for Ampere's instruction. Blocks of queries, steps
// of keys and whether results stay in registers are read off its source
// (mem_eff_attention/kernel_forward.h, kMaxK), the blocks that share a
// multiprocessor off its 168 registers. Cycles of a step are fitted to an
// H100's operators (kinds.jsonl.gz, drawn.jsonl.gz) and an H200's of networks
// (kernels.jsonl.gz), those of 16 bits to KernelBench's heads of 1,024
// elements. 16 bits with a mask run cuDNN 9.19's kernel with blocks of 64
// queries and steps of 128 keys, fitted to the H200's kernels; what older
// versions run was not measured and is taken for as slow, other generations as
// flash attention.
//
// Few queries (decoding) fill one step of the tensor cores, 16, with the heads
// that share keys and values, and the keys are divided among blocks whose
// results a second kernel joins. That is traffic, and in addition
//
//   start = 5.6 us + 3.3 us * blocks / SMs, at least one wave
//                  + 2.4 us * log2(1 + steps of a block's keys)
//
// Fitted on A100: to half of the published prefills of vLLM and SGLang, and to
// half of their decodes, whose other half it meets by 13 % in the median.
// TensorRT-LLM's decoding has kernels of its own and is faster.

namespace foretell::cost {
namespace {

constexpr double kAttentionEfficiency = 0.55;
constexpr double kHopperEfficiency = 0.35;
constexpr double kHopperCudnnEfficiency = 0.49;
constexpr double kFirstFlashPerLane = 4.8;
constexpr double kFirstFlashShare = 0.30;
/// The first PyTorch with FlashAttention 2.
constexpr TorchVersion kFlashAttention2 = {.major = 2, .minor = 2};
constexpr double kAttentionHalfKeys = 60;
constexpr double kAttentionQueryBlock = 128;
constexpr double kAttentionKeyStep = 64;
constexpr double kFewQueries = 16;
constexpr double kHeadStep = 32;
/// In addition to a kernel's usual floor: from the shortest prefills.
constexpr double kPrefillStartUs = 5;
constexpr double kDecodeStartUs = 5.6;
constexpr double kDecodeWaveUs = 3.3;
constexpr double kDecodeDepthUs = 2.4;

/// A block of queries of a kernel that goes over its keys step by step.
struct SteppedBlock {
  std::int64_t largest_head;  ///< Elements.
  double queries;
  double keys;       ///< Of a step.
  double resident;   ///< Blocks that share a multiprocessor.
  double cycles;     ///< Of a step, one after the other on a multiprocessor.
  double start = 0;  ///< Cycles of a block before its first step.
  bool in_parts = false;  ///< Cycles are for 256 elements, in parts of 128.
};
/// Slower with an odd number of keys: rows of the mask do not begin at whole 4
/// bytes.
constexpr double kOddMaskRows = 1.85;
constexpr std::int64_t kMostFlashHead = 256;
constexpr std::int64_t kAnyHead = std::numeric_limits<std::int64_t>::max();
constexpr SteppedBlock kFloatBlocks[] = {{.largest_head = 64,
                                          .queries = 64,
                                          .keys = 64,
                                          .resident = 3,
                                          .cycles = 8'300},
                                         {.largest_head = 128,
                                          .queries = 64,
                                          .keys = 128,
                                          .resident = 1,
                                          .cycles = 25'000},
                                         {.largest_head = kAnyHead,
                                          .queries = 32,
                                          .keys = 128,
                                          .resident = 3,
                                          .cycles = 19'000,
                                          .in_parts = true}};
constexpr SteppedBlock kHalfBlocks[] = {{.largest_head = 64,
                                         .queries = 64,
                                         .keys = 128,
                                         .resident = 1,
                                         .cycles = 2'025,
                                         .start = 2'000},
                                        {.largest_head = 128,
                                         .queries = 64,
                                         .keys = 128,
                                         .resident = 1,
                                         .cycles = 3'300,
                                         .start = 3'000},
                                        {.largest_head = kMostFlashHead,
                                         .queries = 64,
                                         .keys = 128,
                                         .resident = 1,
                                         .cycles = 8'000,
                                         .start = 3'000},
                                        {.largest_head = kAnyHead,
                                         .queries = 32,
                                         .keys = 128,
                                         .resident = 3,
                                         .cycles = 8'300,
                                         .in_parts = true}};

/// Keys of which a block of queries reads all, and how many of them it needs.
struct KeyCount {
  double read = 0;
  double needed = 0;
};

KeyCount KeysOf(const Kernel& kernel) {
  const double keys = Real(kernel.n);
  const double steps = PaddedTo(keys, kAttentionKeyStep);
  if (!kernel.causal) return {steps, keys};
  // A block reads up to its own diagonal.
  return {std::min(steps, (keys + kAttentionQueryBlock) / 2),
          keys * kCausalAttentionShare};
}

/// Whether such a kernel runs; `variant`: with a mask.
bool IsStepped(const Kernel& kernel, const Machine& machine) {
  return kernel.kernel_class == KernelClass::kAttention &&
         machine.HasNewerTensorCores() &&
         (kernel.element_bytes_in != kHalfElementBytes || kernel.variant ||
          kernel.k > kMostFlashHead);
}

const SteppedBlock& SteppedBlockOf(const Kernel& kernel) {
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  const SteppedBlock* block = is_half ? kHalfBlocks : kFloatBlocks;
  while (kernel.k > block->largest_head) ++block;
  return *block;
}

/// Steps of a block over its keys, on average.
double KeyStepsOf(const Kernel& kernel, const SteppedBlock& block) {
  const double keys = PaddedTo(Real(kernel.n), block.keys);
  const double read =
      kernel.causal ? std::min(keys, (keys + block.queries) / 2) : keys;
  return std::max(1.0, read / block.keys);
}

double SteppedUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kPart = 128;
  const SteppedBlock& block = SteppedBlockOf(kernel);
  const double blocks =
      Real(kernel.batch) * std::ceil(Real(kernel.m) / block.queries);
  const double each = PaddedTo(blocks / machine.sms, block.resident);
  const double parts =
      block.in_parts ? PaddedTo(Real(kernel.k), kPart) / kMostFlashHead : 1;
  const bool has_odd_rows = kernel.element_bytes_in == kHalfElementBytes &&
                            kernel.variant && kernel.n % 2 != 0;
  const double cycles =
      block.start + KeyStepsOf(kernel, block) * block.cycles * parts;
  return each * cycles * (has_odd_rows ? kOddMaskRows : 1) /
         machine.CyclesPerUs();
}

bool DividesKeys(const Kernel& kernel) { return Real(kernel.m) <= kFewQueries; }

/// Heads of the queries that share keys and values, by what is read of those.
double HeadsPerKey(const Kernel& kernel) {
  if (kernel.variant) return 1;  // A mask is read as well.
  const double element = Real(kernel.element_bytes_in);
  const double queries = Real(kernel.batch * kernel.m * kernel.k) * element;
  const double read = Real(kernel.bytes_in) - queries;
  const double apart = 2 * Real(kernel.batch * kernel.n * kernel.k) * element;
  return read > 0 ? std::max(1.0, std::round(apart / read)) : 1;
}

/// Blocks of queries, and the queries that they have room for.
struct QueryBlocks {
  double count = 0;
  double padded = 0;
};

QueryBlocks BlocksOf(const Kernel& kernel) {
  const bool few = DividesKeys(kernel);
  const double shared = few ? HeadsPerKey(kernel) : 1;
  const double block = few ? kFewQueries : kAttentionQueryBlock;
  const double padded = PaddedTo(Real(kernel.m) * shared, block);
  const double heads = Real(kernel.batch) / shared;
  return {.count = heads * padded / block, .padded = heads * padded};
}

/// Whether FlashAttention 1 runs it, which accepts 16 bits without a mask.
bool IsFirstFlash(const Kernel& kernel) {
  return kernel.torch < kFlashAttention2 && !kernel.variant &&
         kernel.element_bytes_in == kHalfElementBytes;
}

/// Elements that a head of 16-bit tensors is padded to.
double PaddedHead(const Kernel& kernel) {
  const double size = Real(kernel.k);
  if (!IsFirstFlash(kernel)) return PaddedTo(size, kHeadStep);
  return std::max(kHeadStep, std::exp2(std::ceil(std::log2(size))));
}

/// Share of the elements of a padded head that are there.
double HeadShare(const Kernel& kernel) {
  const bool is_padded =
      kernel.element_bytes_in == kHalfElementBytes && kernel.k > 0;
  return is_padded ? Real(kernel.k) / PaddedHead(kernel) : 1;
}

/// Share of the peak that long rows of keys reach.
double MostEfficiency(const Kernel& kernel, const Machine& machine) {
  const bool is_newer = machine.HasNewerTensorCores();
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  const double most =
      !is_newer  ? kAttentionEfficiency
      : !is_half ? kHopperEfficiency * InstructionShare(kernel, machine)
      : kernel.torch >= kNewCudnn ? kHopperCudnnEfficiency
                                  : kHopperEfficiency;
  if (!IsFirstFlash(kernel)) return most;
  if (is_newer) return kFirstFlashShare * InstructionShare(kernel, machine);
  const double lanes = machine.FlopsPerUs(Precision::kFp32);
  return std::min(most,
                  kFirstFlashPerLane * lanes / PeakFlopsPerUs(kernel, machine));
}

/// Share of the peak that flash attention reaches.
double FlashEfficiency(const Kernel& kernel, const Machine& machine) {
  const QueryBlocks blocks = BlocksOf(kernel);
  const double filled =
      DividesKeys(kernel) ? 1
                          : blocks.count / PaddedTo(blocks.count, machine.sms);
  const KeyCount keys = KeysOf(kernel);
  const double queries = Real(kernel.batch * kernel.m);
  const double useful = queries * keys.needed / (blocks.padded * keys.read);
  return MostEfficiency(kernel, machine) * keys.read /
         (keys.read + kAttentionHalfKeys) * filled * useful * HeadShare(kernel);
}

}  // namespace

double AttentionUs(const Kernel& kernel, double at_peak_us,
                   const Machine& machine) {
  if (IsStepped(kernel, machine)) return SteppedUs(kernel, machine);
  return at_peak_us / FlashEfficiency(kernel, machine);
}

double AttentionStartUs(const Kernel& kernel, const Machine& machine) {
  const bool divides = DividesKeys(kernel) && !IsStepped(kernel, machine);
  if (!divides || kernel.m == 0) return kPrefillStartUs;
  const double waves =
      std::max(1.0, BlocksOf(kernel).count / Real(machine.sms));
  const double steps = std::ceil(Real(kernel.n) / kAttentionKeyStep);
  return kDecodeStartUs + kDecodeWaveUs * waves +
         kDecodeDepthUs * std::log2(1 + steps);
}

}  // namespace foretell::cost
