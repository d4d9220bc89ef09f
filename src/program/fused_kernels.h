#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foretell/trace.h"

namespace foretell {

/// A kernel of another library that a step runs instead of PyTorch's operators;
/// each is a bit of its own.
enum class FusedKernel : std::uint16_t {
  kRmsNorm = 1,
  kRope = 2,
  kSwiGlu = 4,
  kCrossEntropy = 8,
  /// The language model's head and its cross entropy, in parts.
  kLinearCrossEntropy = 16,
  /// The same as Liger wrote it up to 0.4, and fms-acceleration has it.
  kFloatLinearCrossEntropy = 32,
  /// Cross entropy of parts of the logits, in PyTorch's operators.
  kChunkedCrossEntropy = 64,
  /// torchao's float8 training of linear layers, see Float8Linear.
  kFloat8 = 128,
  kFloat8Rows = 256,
  kFloat8RowsWideGrad = 512,
  /// torchao's MXFP8 training of linear layers, see Mxfp8Linear.
  kMxfp8 = 1024,
  /// TransformerEngine's linear layers by one of TeRecipe, see TeLinear.
  kTeDelayed = 2048,
  kTeCurrent = 4096,
  kTeMxfp8 = 8192,
  kTeNvfp4 = 16384,
};

/// Whether TrainingLoop::kernels has torchao's linear layers in 8 bits, which
/// all are except the network's last.
bool KeepsLastLayer(const TrainingLoop& loop);

/// The kernels of TrainingLoop::kernels, on this thread while it lives. Scopes
/// do not nest.
class FusedKernelScope {
 public:
  /// Throws Error(kInvalidArgument) for an unknown name, a number of parts
  /// below 2, kernels in a trace on the CPU, and those that are not predicted
  /// with TrainingLoop::parallel.
  explicit FusedKernelScope(const TraceOptions& options);
  ~FusedKernelScope();
  FusedKernelScope(const FusedKernelScope&) = delete;
  FusedKernelScope& operator=(const FusedKernelScope&) = delete;

  /// Whether the caller must run `kernel`, which counts as used then. False
  /// without a scope.
  static bool Takes(FusedKernel kernel);
  /// Leaves the linear layer with `weight` as it is.
  static void Keep(const at::Tensor& weight);
  /// Parts of kChunkedCrossEntropy. Requires that the step takes it.
  static std::int64_t Chunks();
  /// Type of the result of a linear layer of `input`: autocast's, else the
  /// input's. Requires a scope.
  static at::ScalarType ResultType(const at::Tensor& input);

  /// For callers that see calls first: runs PyTorch's RMS norm or cross entropy
  /// as the chosen kernel, and returns true.
  static bool Intercept(const c10::OperatorHandle& op,
                        torch::jit::Stack& stack);

  /// Throws Error(kInvalidArgument) with the first name that replaced nothing
  /// in training; inference has no loss.
  void RequireUse() const;

 private:
  struct Choice {
    std::string name;
    unsigned kernels = 0;  ///< FusedKernel, one or several.
  };

  void Add(const std::string& name);
  void RequireFits(const TraceOptions& options) const;
  void RequireNarrowFits(const TrainingLoop& loop) const;
  /// Whether the linear layer with `weight` stays: the last one, or one whose
  /// weight is computed.
  bool IsKept(const at::Tensor& weight) const;

  std::vector<Choice> choices_;
  unsigned chosen_ = 0;
  unsigned used_ = 0;
  std::int64_t chunks_ = 0;
  const c10::StorageImpl* kept_ = nullptr;
  std::optional<at::ScalarType> cast_;  ///< Of autocast.
  bool must_be_used_ = false;
};

}  // namespace foretell
