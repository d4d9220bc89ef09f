#include "src/cost/dispatch.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cost/host_time.h"
#include "src/graph/compiled_call.h"
#include "src/graph/convolution.h"
#include "src/kernels/constants.h"

// What launching a kernel takes on the CPU.
//
//   eager        PyTorch's dispatcher, called from Python or C++
//   compile      Inductor's wrapper is Python without the dispatcher: a kernel
//                of Triton is a call of its launcher; products are operators
//                called with their result given. A call of the compiled
//                function first checks guards and wraps its tensors, which
//                takes a while for each of them
//   CUDA graphs  one launch for all; a call looks for the graph's path, copies
//                inputs and makes tensors of the results
//   onnxruntime  a C++ loop over nodes
//   tensorrt     enqueueV3 queues kernel after kernel

namespace foretell::cost {
namespace {

/// CPU time of recording an operator for the backward pass: in the forward pass
/// of training, and of inference in grad mode. In C++, whatever the caller;
/// median over the operators of data/hosts/reference.json, on CPU tensors.
constexpr double kRecordingUs = 0.55;
/// CPU time per tensor of a multi-tensor optimizer operator.
constexpr double kDispatchPerOptimizerTensorUs = 0.2;
/// CPU time of every kernel of an operator after its first: called from C++,
/// inside the operator. Judgement. Whatever calls the operator, one that is
/// launched over and over costs no more: published steps of timm's lambda
/// networks under PyTorch 2.9 leave 3.1 to 3.8 us for each of 55,000 launches.
constexpr double kFurtherKernelUs = 4;
/// CPU time of a kernel of Triton that Python launches in an autograd function,
/// as Liger's smallest published rows show: 0.10 to 0.14 ms each, with hosts of
/// A100s and H100s.
constexpr double kTritonUs = 40;
constexpr std::string_view kTritonNames = "liger::";

/// CPU time in microseconds.
struct RuntimeHost {
  double call_us;    ///< Of every pass, before its first kernel.
  double kernel_us;  ///< Of a kernel that the runtime generated.
  /// Of an operator that is left to a library, as a multiple of the
  /// dispatcher's from C++.
  double library_scale;
};

/// Fitted to 388 host-bound rows of KernelBench (A100, H100, L40S; PyTorch 2.5)
/// on the hosts that their eager rows show: a call of 75 us, 23 for a generated
/// kernel, 55 for a convolution, 32 for a linear layer. Networks of many
/// kernels take less, so a kernel has 18: chosen on the same tables, when the
/// kernels of variances were counted as Inductor splits them.
constexpr RuntimeHost kCompileHost = {75, 18, 2.4};
/// What a call of a compiled pass spends on each parameter and buffer: guards,
/// the wrapper of AOTAutograd and assert_size_stride; in training also what the
/// autograd function keeps, and in the backward pass the gradient that it hands
/// to each parameter. What the forward pass keeps is tested for being a view
/// and saved there (save_from_forward of runtime_wrappers.py), and unpacked and
/// compared with its strides in the backward pass. Measured, not fitted, by
/// scripts/bench/time_compiled_calls.py with PyTorch 2.13 on a host of factor
/// 0.6 (`foretell host`): 0.5, 1.8, 2.8, 0.3 and 0.5 us, divided by that
/// factor.
constexpr double kTensorUs = 0.8;
constexpr double kTrainedTensorUs = 3;
constexpr double kGradientUs = 4.7;
constexpr double kSavedUs = 0.5;
constexpr double kUnpackedUs = 0.8;
/// The same tables with CUDA graphs, less the time of their kernels: 140 us
/// (H100) and 116 (L40S), whether of one kernel or four.
constexpr RuntimeHost kCudaGraphHost = {130, 0, 0};
/// ONNX Runtime 1.31 on the host of an H100, a run of 1 to 600 nodes; least
/// squares of the relative error over the networks that are not kept back
/// (datasets/labels/h100-sxm5-80gb/onnxruntime.jsonl.gz). A node takes as long
/// whatever it does, but for a convolution, which binds its tensors to a graph
/// of cuDNN's frontend; what its other kernels take is counted apart.
constexpr RuntimeHost kOnnxRuntimeHost = {75, 8, 0};
constexpr double kOnnxRuntimeConvolutionUs = 20;
/// Judgement.
constexpr RuntimeHost kTensorRtHost = {15, 2.5, 0.2};

const RuntimeHost& HostOf(const RuntimeSpec& spec) {
  switch (spec.runtime) {
    case Runtime::kOnnxRuntime:
      return kOnnxRuntimeHost;
    case Runtime::kTensorRt:
      return kTensorRtHost;
    default:
      return spec.cuda_graphs ? kCudaGraphHost : kCompileHost;
  }
}

/// Of a node of a runtime that is not PyTorch's, without the call.
double NodeUs(const RuntimeSpec& spec, const Node& node) {
  const RuntimeHost& host = HostOf(spec);
  if (spec.runtime == Runtime::kOnnxRuntime) {
    return IsConvolution(node.kind) ? kOnnxRuntimeConvolutionUs
                                    : host.kernel_us;
  }
  return IsGenerated(node) ? host.kernel_us
                           : host.library_scale * DispatchUs(node.kind);
}

/// Parameters and buffers that a compiled pass is called with, whose first
/// kernel is `node`; a frozen one has them inside.
std::vector<std::int64_t> TensorsOfCall(const OperatorGraph& graph,
                                        const Node& node) {
  if (IsFrozen(graph.info())) return {0, 0};
  return node.Ints(std::string(kCallAttribute),
                   {CountSources(graph, TensorRole::kParameter),
                    CountSources(graph, TensorRole::kBuffer)});
}

/// Tensors that a call of a compiled forward pass keeps for the backward one,
/// alike in all calls where breaks divide the graph.
double SavedByCall(const OperatorGraph& graph) {
  const auto calls = std::ranges::count_if(graph.nodes(), [](const Node& node) {
    return node.phase == Phase::kForward &&
           node.FindAttribute(kCallAttribute) != nullptr;
  });
  const auto saved =
      std::ranges::count(graph.storages(), TensorRole::kSaved, &Storage::role);
  return static_cast<double>(saved) /
         static_cast<double>(std::max<std::int64_t>(1, calls));
}

/// Walks over the nodes in their order.
class Dispatcher {
 public:
  Dispatcher(const OperatorGraph& graph, const CostOptions& options)
      : graph_(graph),
        info_(graph.info()),
        saved_(SavedByCall(graph)),
        factor_(options.host_factor),
        scale_(DispatchScale(options.run.host)) {}

  NodeDispatch Of(const Node& node, bool is_constant) {
    const KernelDispatch further = {
        .other_us = factor_ * kFurtherKernelUs * scale_,
        .repeat_us = factor_ * kFurtherKernelUs};
    if (is_constant || node.FindAttribute(kSavedAttribute) != nullptr) {
      return {.first_us = 0, .further = further};
    }
    if (IsEager(graph_, node)) {
      return {.first_us = factor_ * EagerUs(node), .further = further};
    }
    if (node.kind == OpKind::kView) return {};
    return {.first_us = factor_ * RuntimeUs(node),
            .further = info_.runtime.cuda_graphs ? KernelDispatch() : further};
  }

 private:
  double EagerUs(const Node& node) const {
    double us = node.target.starts_with(kTritonNames) ? kTritonUs
                                                      : DispatchUs(node.kind);
    if (node.kind == OpKind::kOptimizerUpdate) {
      us += kDispatchPerOptimizerTensorUs *
            static_cast<double>(node.inputs.size());
    }
    const bool records = info_.grad_mode || (info_.mode == Mode::kTraining &&
                                             node.phase == Phase::kForward);
    return us * scale_ + (records ? kRecordingUs : 0);
  }

  double RuntimeUs(const Node& node) {
    begins_ |= node.phase != std::exchange(phase_, node.phase) ||
               node.FindAttribute(kCallAttribute) != nullptr;
    return NodeUs(info_.runtime, node) +
           (std::exchange(begins_, false) ? CallUs(node) : 0);
  }

  /// Of a pass, before its first kernel `node`.
  double CallUs(const Node& node) const {
    const double call_us = HostOf(info_.runtime).call_us;
    if (info_.runtime.runtime != Runtime::kCompile) return call_us;
    const std::vector<std::int64_t> tensors = TensorsOfCall(graph_, node);
    const auto parameters = static_cast<double>(tensors.front());
    if (node.phase == Phase::kBackward) {
      return call_us + parameters * kGradientUs + saved_ * kUnpackedUs;
    }
    const auto buffers = static_cast<double>(tensors.back());
    const bool trains = info_.mode == Mode::kTraining;
    return call_us + saved_ * kSavedUs +
           (parameters + buffers) * (trains ? kTrainedTensorUs : kTensorUs);
  }

  const OperatorGraph& graph_;
  const GraphInfo& info_;
  double saved_;
  double factor_;
  double scale_;
  bool begins_ = true;  ///< No kernel of the pass yet.
  Phase phase_ = Phase::kForward;
};

}  // namespace

std::vector<NodeDispatch> DispatchOf(const OperatorGraph& graph,
                                     const CostOptions& options) {
  Dispatcher dispatcher(graph, options);
  const std::vector<bool> varying = VaryingValues(graph);
  std::vector<NodeDispatch> result;
  for (const Node& node : graph.nodes()) {
    result.push_back(
        dispatcher.Of(node, IsConstantTable(graph, node, varying)));
  }
  return result;
}

}  // namespace foretell::cost
