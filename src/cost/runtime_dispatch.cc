#include "src/cost/runtime_dispatch.h"

#include <cstddef>
#include <utility>

#include "src/cost/host_time.h"
#include "src/graph/convolution.h"

// What a runtime does on the CPU for one kernel.
//
//   compile      Inductor's wrapper is Python without the dispatcher: a kernel
//                of Triton is a call of its launcher; products are operators
//                called with their result given. A call of the compiled
//                function checks guards and wraps its tensors first.
//   CUDA graphs  one launch for all; a call copies its inputs
//   onnxruntime  a C++ loop over nodes
//   tensorrt     enqueueV3 queues kernel after kernel

namespace foretell::cost {
namespace {

/// CPU time in microseconds.
struct RuntimeHost {
  double call_us;    ///< Of every pass, before its first kernel.
  double kernel_us;  ///< Of a kernel that the runtime generated.
  /// Of an operator that is left to a library, as a multiple of the
  /// dispatcher's from C++.
  double library_scale;
};

/// KernelBench's smallest problems with torch.compile on A100s: 87 to 92 us for
/// one kernel, 110 for two (PyTorch 2.5).
constexpr RuntimeHost kCompileHost = {80, 12, 1.5};
constexpr RuntimeHost kCudaGraphHost = {60, 0, 0};
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

bool IsGenerated(const Node& node) { return node.target.starts_with("fused_"); }

double NodeUs(const RuntimeSpec& spec, const Node& node) {
  const RuntimeHost& host = HostOf(spec);
  if (spec.runtime == Runtime::kOnnxRuntime) {
    return IsConvolution(node.kind) ? kOnnxRuntimeConvolutionUs
                                    : host.kernel_us;
  }
  return IsGenerated(node) ? host.kernel_us
                           : host.library_scale * DispatchUs(node.kind);
}

}  // namespace

std::vector<double> RuntimeDispatchUs(const OperatorGraph& graph,
                                      const CostOptions& options,
                                      std::vector<double> eager_us) {
  const RuntimeSpec& spec = graph.info().runtime;
  if (spec.runtime == Runtime::kEager) return eager_us;
  const double call_us = HostOf(spec).call_us;
  std::vector<double> result = std::move(eager_us);
  bool begins = true;
  Phase phase = Phase::kForward;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.phase == Phase::kOptimizer || result[i] == 0) continue;
    if (node.kind == OpKind::kView) {
      result[i] = 0;
      continue;
    }
    begins |= node.phase != std::exchange(phase, node.phase);
    const double us = NodeUs(spec, node);
    result[i] = options.host_factor *
                (us + (std::exchange(begins, false) ? call_us : 0));
  }
  return result;
}

}  // namespace foretell::cost
