// The floor under learned figures. A network that is asked of something unlike
// what it learned from may answer anything; what follows holds of every step.
#include "src/answer/least_figures.h"

#include <algorithm>
#include <map>
#include <set>

#include "src/core/units.h"

namespace foretell {
namespace {

constexpr double kMsPerS = 1e3;
constexpr double kFlopsPerTflop = 1e12;
constexpr double kBytesPerGb = 1e9;
/// Multiplications that are left of a convolution's by Winograd's algorithm
/// F(4x4, 3x3), the sparest that cuDNN has for 3 x 3 windows: 36 of 144.
constexpr double kWinogradShare = 0.25;
/// Causal attention skips the scores above the diagonal.
constexpr double kCausalShare = 0.5;

/// The part of the operator's products that an implementation may not skip.
double LeastShare(OpKind kind) {
  switch (kind) {
    case OpKind::kConvolution:
    case OpKind::kTransposedConvolution:
    case OpKind::kConvolutionBackward:
      return kWinogradShare;
    case OpKind::kAttention:
    case OpKind::kAttentionBackward:
      return kCausalShare;
    default:
      return 1;
  }
}

double RateIn(const std::map<Precision, double>& tflops, Precision precision) {
  const auto found = tflops.find(precision);
  return found == tflops.end() ? 0 : found->second * kFlopsPerTflop;
}

/// FLOP/s of the fastest units that the step's products use.
double HighestRate(const cost::LaunchedStep& step, const DeviceSpec& device) {
  double highest = 0;
  for (const cost::Kernel& kernel : step.kernels) {
    if (kernel.macs == 0) continue;
    highest = std::max({highest, RateIn(device.peak_tflops, kernel.arithmetic),
                        RateIn(device.matmul_tflops, kernel.arithmetic)});
  }
  return highest;
}

double LeastFlops(const OperatorGraph& graph) {
  double flops = 0;
  for (const Node& node : graph.nodes()) {
    flops += 2 * static_cast<double>(node.macs) * LeastShare(node.kind);
  }
  return flops;
}

/// Of the parameters that products read, each once.
std::int64_t WeightBytes(const OperatorGraph& graph) {
  std::set<StorageId> weights;
  for (const Node& node : graph.nodes()) {
    if (node.macs == 0) continue;
    for (const ValueId input : node.inputs) {
      const StorageId storage = graph.value(input).storage;
      if (graph.storage(storage).role == TensorRole::kParameter) {
        weights.insert(storage);
      }
    }
  }
  std::int64_t bytes = 0;
  for (const StorageId storage : weights) bytes += graph.storage(storage).bytes;
  return bytes;
}

}  // namespace

double LeastFigures::LatencyMs() const {
  const DeviceSpec& device = options_.device;
  const double rate = HighestRate(step_, device);
  const double compute_s = rate > 0 ? LeastFlops(graph_) / rate : 0;
  const double moved = static_cast<double>(WeightBytes(graph_)) -
                       device.l2_mib * static_cast<double>(kMiB);
  const double bandwidth =
      std::max(device.bandwidth_gb_s, device.reached_bandwidth_gb_s);
  return kMsPerS *
         std::max({compute_s, moved / (bandwidth * kBytesPerGb), 0.0});
}

double LeastFigures::Of(Target target) {
  switch (target) {
    case Target::kLatency:
      return LatencyMs();
    case Target::kEnergy:
      return options_.device.idle_power_w * LatencyMs() / kMsPerS;
    case Target::kMemory:
      break;
  }
  if (!memory_mib_) {
    memory_mib_ = ToMiB(LeastMemory(graph_, options_, memory_));
  }
  return *memory_mib_;
}

}  // namespace foretell
