#include "src/program/fused_kernels.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string_view>
#include <utility>

#include "src/core/failure.h"
#include "src/core/parse_number.h"
#include "src/program/float8_linear.h"
#include "src/program/liger.h"
#include "src/program/mxfp8_linear.h"
#include "src/program/operand_checks.h"
#include "src/program/te_linear.h"
#include "src/program/weighted_operators.h"

namespace foretell {
namespace {

thread_local FusedKernelScope* current_kernels = nullptr;

constexpr unsigned Bit(FusedKernel kernel) {
  return static_cast<unsigned>(kernel);
}

constexpr unsigned kNormAndRope =
    Bit(FusedKernel::kRmsNorm) | Bit(FusedKernel::kRope);
constexpr unsigned kAnyTe =
    Bit(FusedKernel::kTeDelayed) | Bit(FusedKernel::kTeCurrent) |
    Bit(FusedKernel::kTeMxfp8) | Bit(FusedKernel::kTeNvfp4);
/// Linear layers in 8 or 4 bits.
constexpr unsigned kAnyNarrow =
    Bit(FusedKernel::kFloat8) | Bit(FusedKernel::kFloat8Rows) |
    Bit(FusedKernel::kFloat8RowsWideGrad) | Bit(FusedKernel::kMxfp8) | kAnyTe;
constexpr unsigned kLossesWithHead = Bit(FusedKernel::kLinearCrossEntropy) |
                                     Bit(FusedKernel::kFloatLinearCrossEntropy);

struct KernelName {
  std::string_view name;
  unsigned kernels;
};

/// `liger` is what apply_liger_kernel_to_llama of Liger 0.8.2 replaces unless
/// told otherwise (src/liger_kernel/transformers/monkey_patch.py); `foak` the
/// fast kernels of fms-acceleration 876e2ed, which are unsloth's and keep and
/// write the same tensors as Liger's.
constexpr KernelName kKernelNames[] = {
    {"liger", kNormAndRope | Bit(FusedKernel::kSwiGlu) |
                  Bit(FusedKernel::kLinearCrossEntropy)},
    {"rms-norm", Bit(FusedKernel::kRmsNorm)},
    {"rope", Bit(FusedKernel::kRope)},
    {"swiglu", Bit(FusedKernel::kSwiGlu)},
    {"cross-entropy", Bit(FusedKernel::kCrossEntropy)},
    {"fused-linear-cross-entropy", Bit(FusedKernel::kLinearCrossEntropy)},
    {"float8", Bit(FusedKernel::kFloat8)},
    {"float8-rowwise", Bit(FusedKernel::kFloat8Rows)},
    {"float8-rowwise-gw-hp", Bit(FusedKernel::kFloat8RowsWideGrad)},
    {"mxfp8", Bit(FusedKernel::kMxfp8)},
    {"te-fp8", Bit(FusedKernel::kTeDelayed)},
    {"te-fp8-current", Bit(FusedKernel::kTeCurrent)},
    {"te-mxfp8", Bit(FusedKernel::kTeMxfp8)},
    {"te-nvfp4", Bit(FusedKernel::kTeNvfp4)},
    {"foak", kNormAndRope | Bit(FusedKernel::kCrossEntropy)},
    {"foak-liger", kNormAndRope | Bit(FusedKernel::kFloatLinearCrossEntropy)},
};
/// With a number after it.
constexpr std::string_view kChunked = "chunked-cross-entropy:";

/// Replaces the arguments, which begin at `first`, by `result`; true.
bool Replace(torch::jit::Stack& stack, std::size_t first, at::Tensor result) {
  stack.resize(first);
  stack.emplace_back(std::move(result));
  return true;
}

at::Tensor TensorOrUndefined(const c10::IValue& value) {
  return value.isNone() ? at::Tensor() : value.toTensor();
}

/// One of the last dimension, with a weight.
bool RunRmsNorm(torch::jit::Stack& stack, std::size_t first) {
  const c10::IValue& weight = stack[first + 2];
  if (stack[first + 1].toIntVector().size() != 1 || !weight.isTensor() ||
      !weight.toTensor().defined()) {
    return false;
  }
  return Replace(stack, first,
                 liger::RmsNorm(stack[first].toTensor(), weight.toTensor()));
}

/// The mean, or sum, of losses of rows of logits by their classes.
bool RunCrossEntropy(torch::jit::Stack& stack, std::size_t first) {
  const at::Tensor logits = stack[first].toTensor();
  const at::Tensor classes = stack[first + 1].toTensor();
  const std::int64_t reduction = stack[first + 3].toInt();
  if (logits.dim() != 2 || classes.dim() != 1 || reduction == 0) return false;
  return Replace(stack, first, liger::CrossEntropy(logits, classes));
}

/// A linear layer whose sizes are multiples of 16.
template <Float8Recipe recipe>
bool RunFloat8(torch::jit::Stack& stack, std::size_t first) {
  return Replace(
      stack, first,
      Float8Linear(stack[first].toTensor(), stack[first + 1].toTensor(),
                   TensorOrUndefined(stack[first + 2]), recipe));
}

/// A linear layer whose sizes are multiples of 32.
bool RunMxfp8(torch::jit::Stack& stack, std::size_t first) {
  return Replace(
      stack, first,
      Mxfp8Linear(stack[first].toTensor(), stack[first + 1].toTensor(),
                  TensorOrUndefined(stack[first + 2])));
}

template <TeRecipe recipe>
bool RunTe(torch::jit::Stack& stack, std::size_t first) {
  const at::Tensor input = stack[first].toTensor();
  return Replace(stack, first,
                 TeLinear(input, stack[first + 1].toTensor(),
                          TensorOrUndefined(stack[first + 2]), recipe,
                          FusedKernelScope::ResultType(input)));
}

template <TeRecipe recipe>
bool FitsTe(const at::Tensor& weight) {
  return IsTeLayer(weight, recipe);
}

struct ReplacedRow {
  std::string_view name;
  FusedKernel kernel;
  /// Replaces the arguments, which begin at `first`, by the result; false, and
  /// nothing done, for a call that the kernel does not support.
  bool (*run)(torch::jit::Stack& stack, std::size_t first);
  /// Of linear layers: whether one with `weight` is replaced.
  bool (*fits)(const at::Tensor& weight) = nullptr;
};

constexpr ReplacedRow kReplaced[] = {
    {"aten::rms_norm", FusedKernel::kRmsNorm, &RunRmsNorm},
    {"aten::cross_entropy_loss", FusedKernel::kCrossEntropy, &RunCrossEntropy},
    {"aten::linear", FusedKernel::kFloat8,
     &RunFloat8<Float8Recipe::kTensorwise>, &IsFloat8Layer},
    {"aten::linear", FusedKernel::kFloat8Rows,
     &RunFloat8<Float8Recipe::kRowwise>, &IsFloat8Layer},
    {"aten::linear", FusedKernel::kFloat8RowsWideGrad,
     &RunFloat8<Float8Recipe::kRowwiseWideGrad>, &IsFloat8Layer},
    {"aten::linear", FusedKernel::kMxfp8, &RunMxfp8, &IsMxfp8Layer},
    {"aten::linear", FusedKernel::kTeDelayed, &RunTe<TeRecipe::kDelayed>,
     &FitsTe<TeRecipe::kDelayed>},
    {"aten::linear", FusedKernel::kTeCurrent, &RunTe<TeRecipe::kCurrent>,
     &FitsTe<TeRecipe::kCurrent>},
    {"aten::linear", FusedKernel::kTeMxfp8, &RunTe<TeRecipe::kMxfp8>,
     &FitsTe<TeRecipe::kMxfp8>},
    {"aten::linear", FusedKernel::kTeNvfp4, &RunTe<TeRecipe::kNvfp4>,
     &FitsTe<TeRecipe::kNvfp4>},
};

}  // namespace

bool KeepsLastLayer(const TrainingLoop& loop) {
  const std::string names = "," + loop.kernels;
  return names.find(",float8") != std::string::npos ||
         names.find(",mxfp8") != std::string::npos;
}

FusedKernelScope::FusedKernelScope(const TraceOptions& options) {
  std::string_view rest = options.loop.kernels;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    Add(std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  RequireFits(options);
  if (const auto cast = AutocastType(options.run)) cast_ = ToScalarType(*cast);
  must_be_used_ = options.run.mode == Mode::kTraining;
  if (!choices_.empty()) current_kernels = this;
}

FusedKernelScope::~FusedKernelScope() { current_kernels = nullptr; }

void FusedKernelScope::Add(const std::string& name) {
  Choice choice{.name = name};
  if (name.starts_with(kChunked)) {
    const auto chunks =
        ParseNumber<int>(std::string_view(name).substr(kChunked.size()));
    if (!chunks || *chunks < 2) {
      throw InvalidArgument(
          "kernels '{}': expected a number of at least 2 after the colon",
          name);
    }
    chunks_ = *chunks;
    choice.kernels = Bit(FusedKernel::kChunkedCrossEntropy);
  } else {
    const auto* const row =
        std::ranges::find(kKernelNames, name, &KernelName::name);
    if (row == std::end(kKernelNames)) {
      std::string known;
      for (const KernelName& one : kKernelNames) {
        known += std::string(one.name) + ", ";
      }
      throw InvalidArgument("kernels '{}': expected {}{}N", name, known,
                            kChunked);
    }
    choice.kernels = row->kernels;
  }
  chosen_ |= choice.kernels;
  choices_.push_back(std::move(choice));
}

void FusedKernelScope::RequireNarrowFits(const TrainingLoop& loop) const {
  if (std::popcount(chosen_ & kAnyNarrow) > 1) {
    throw InvalidArgument(
        "kernels '{}': expected one recipe for linear layers in 8 or 4 bits",
        loop.kernels);
  }
  if (loop.lora == LoraSpec{} && loop.quantize == QuantizeSpec{}) return;
  throw InvalidArgument(
      "kernels '{}' train whole weights: they are not predicted with --lora "
      "and --quantize",
      loop.kernels);
}

void FusedKernelScope::RequireFits(const TraceOptions& options) const {
  if (choices_.empty()) return;
  if (options.device != TraceDevice::kMeta) {
    throw InvalidArgument(
        "kernels '{}' run on GPUs only: they are not traced on the CPU",
        options.loop.kernels);
  }
  const ParallelSpec& parallel = options.loop.parallel;
  if ((chosen_ & kAnyNarrow) != 0) RequireNarrowFits(options.loop);
  // They make gradients in the forward pass, long before DDP sends them.
  const bool early_gradients = (chosen_ & kLossesWithHead) != 0;
  if (parallel.kind == ParallelKind::kTensor ||
      (parallel.kind != ParallelKind::kOneGpu && early_gradients &&
       !ShardsParameters(parallel))) {
    throw InvalidArgument("kernels '{}' are not predicted with {}",
                          options.loop.kernels, ToString(parallel));
  }
}

bool FusedKernelScope::Takes(FusedKernel kernel) {
  if (current_kernels == nullptr) return false;
  current_kernels->used_ |= current_kernels->chosen_ & Bit(kernel);
  return (current_kernels->chosen_ & Bit(kernel)) != 0;
}

void FusedKernelScope::Keep(const at::Tensor& weight) {
  if (current_kernels == nullptr) return;
  current_kernels->kept_ = weight.storage().unsafeGetStorageImpl();
}

bool FusedKernelScope::IsKept(const at::Tensor& weight) const {
  return !weight.is_leaf() || weight.storage().unsafeGetStorageImpl() == kept_;
}

at::ScalarType FusedKernelScope::ResultType(const at::Tensor& input) {
  return current_kernels->cast_.value_or(input.scalar_type());
}

std::int64_t FusedKernelScope::Chunks() { return current_kernels->chunks_; }

bool FusedKernelScope::Intercept(const c10::OperatorHandle& op,
                                 torch::jit::Stack& stack) {
  if (current_kernels == nullptr) return false;
  const std::size_t first = stack.size() - op.schema().arguments().size();
  for (const ReplacedRow& row : kReplaced) {
    if (op.operator_name().name != row.name) continue;
    if ((current_kernels->chosen_ & Bit(row.kernel)) == 0) continue;
    if (row.fits != nullptr) {
      const at::Tensor weight = stack[first + 1].toTensor();
      if (!row.fits(weight) || current_kernels->IsKept(weight)) return false;
      // TransformerEngine quantizes its input as it comes.
      if ((Bit(row.kernel) & kAnyTe) == 0) {
        const at::Tensor input = stack[first].toTensor();
        stack[first] = InType(input, ResultType(input));
      }
    }
    RequireOperandsFit(op, stack);
    return row.run(stack, first) && Takes(row.kernel);
  }
  return false;
}

void FusedKernelScope::RequireUse() const {
  for (const Choice& choice : choices_) {
    if (!must_be_used_ || (choice.kernels & used_) != 0) continue;
    throw InvalidArgument(
        "kernels '{}' replace nothing: of a file they replace the operators "
        "rms_norm, cross_entropy_loss and linear, of the zoo what its "
        "LLaMA-like networks run",
        choice.name);
  }
}

}  // namespace foretell
