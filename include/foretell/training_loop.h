#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "foretell/lora.h"
#include "foretell/parallel.h"
#include "foretell/quantize.h"
#include "foretell/run.h"

namespace foretell {

/// Values of TrainingLoop::offload_optimizer.
inline constexpr std::string_view kOffloadStates = "states";
inline constexpr std::string_view kOffloadGradients = "gradients";

/// How a loop runs its steps, of training if nothing else is stated. The
/// defaults are PyTorch's.
struct TrainingLoop {
  /// The optimizer runs over whole lists of tensors (`foreach`); false: over
  /// one parameter at a time; empty: as UpdatesLists states.
  std::optional<bool> foreach = {};
  /// The optimizer's step is one operator (`fused=True`), regardless of
  /// `foreach`. Requires HasFusedStep of the optimizer.
  bool fused = false;
  /// Each parameter has an optimizer of its own, which steps as soon as the
  /// backward pass has made the gradient and drops it (torchtune's
  /// optimizer_in_bwd). On one GPU and without accumulation.
  bool optimizer_in_backward = false;
  /// Where the optimizer keeps its states: kOffloadStates, on the host, which
  /// also steps (torchao's CPUOffloadOptimizer); kOffloadGradients: gradients
  /// are dropped once they are there, too; empty: on the GPU.
  std::string offload_optimizer = {};
  /// Tensors that the network saves for the backward pass lie on the host
  /// meanwhile (torchtune's OffloadActivations). In training, on one GPU.
  bool offload_activations = false;
  /// zero_grad() drops gradients; false: it fills them with zeros, and the
  /// backward pass adds to them; empty: as DropsGradients states.
  std::optional<bool> set_to_none = {};
  /// zero_grad() runs between the forward and the backward pass, so gradients
  /// live through the forward pass; false: before it.
  bool late_zero_grad = false;
  /// In inference the results of a pass, and what autograd keeps for them, live
  /// until those of the next pass exist, as in a loop of `y = net(x)`; a
  /// training loop always does so.
  bool keep_result = false;
  /// In training the forward pass and the loss stand in a function that returns
  /// the loss alone, as in transformers' Trainer and Lightning: results die
  /// before the backward pass. Under autocast those in 16 bits are converted to
  /// 32 first, as accelerate does around the Trainer's network.
  bool loss_in_function = false;
  /// In training the whole step stands in a function, so its results die with
  /// the step. False: they live until those of the next one exist.
  bool step_in_function = false;
  /// Batches whose gradients are accumulated per run of the optimizer, >= 1.
  int accumulation = 1;
  /// Trains only parameters whose names this regular expression (RE2) matches
  /// in part; empty: as the file declares.
  std::string trainable = {};
  /// Adapters; nothing else is then trained, except what `trainable` names.
  LoraSpec lora = {};
  /// Frozen weights of few bits, in inference as well. Training then requires
  /// `lora` or `trainable`.
  QuantizeSpec quantize = {};
  /// In training, inputs of floating point require gradients, as those that an
  /// attack or an encoder before the network needs.
  bool input_grad = false;
  /// Blocks to recompute in the backward pass: paths such as "blocks.*", where
  /// "blocks.*/2" is each second block, or "auto", and "save=mm|sdpa",
  /// "reentrant", separated by commas; empty: none.
  std::string recompute = {};
  /// Kernels of other libraries instead of PyTorch's operators, separated by
  /// commas: "liger", "rms-norm", "rope", "swiglu", "cross-entropy",
  /// "fused-linear-cross-entropy", "chunked-cross-entropy:8", "foak",
  /// "foak-liger", "float8", "float8-rowwise", "float8-rowwise-gw-hp", "mxfp8",
  /// "te-fp8", "te-fp8-current", "te-mxfp8", "te-nvfp4"; empty: none.
  std::string kernels = {};
  ParallelSpec parallel = {};  ///< How GPUs share the step; one by default.

  bool operator==(const TrainingLoop&) const = default;
};

/// True if the loop's optimizer runs over lists: PyTorch's default on GPUs
/// since 2.0.
inline bool UpdatesLists(const TrainingLoop& loop, const TorchVersion& torch) {
  return loop.foreach.value_or(torch >= kListsByDefault);
}

/// True if the loop's zero_grad() drops gradients: PyTorch's default since 2.0.
inline bool DropsGradients(const TrainingLoop& loop,
                           const TorchVersion& torch) {
  return loop.set_to_none.value_or(torch >= kNoneByDefault);
}

}  // namespace foretell
