#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "foretell/device.h"
#include "foretell/graph.h"
#include "foretell/run.h"

namespace foretell {

/// CPU time of an operator, as a multiple of LibTorch's called from C++.
/// Python: the median of published hosts (docs/hosts.md).
constexpr double DispatchScale(Host host) {
  return host == Host::kPython ? 2.8 : 1.0;
}

/// Capabilities of a device, or a slice of it, and of its host.
struct CostOptions {
  /// Multiprocessors of a MIG slice; 0: all.
  int sms = 0;
  /// Share of the device's memory bandwidth, (0, 1].
  double bandwidth_fraction = 1.0;
  /// HostSpec::factor: multiplies the CPU time of every operator, in addition
  /// to DispatchScale of the run's host.
  double host_factor = 1.0;
  /// 10^9 bytes per second one way between GPUs; 0: DeviceSpec::link_gb_s.
  double link_gb_s = 0;
  /// Run settings and host of the operators. Mode, precision and optimizer come
  /// from the graph.
  Run run = {.host = Host::kCpp};
};

/// Bottleneck of a node on the GPU.
enum class CostBound : std::uint8_t {
  kCompute,  ///< Arithmetic takes longest.
  kMemory,   ///< Moving its operands takes longest.
  kLaunch,   ///< Starting its kernels does; also nodes without any kernel.
};

/// What an operator does, as far as the error of its predicted time depends on
/// it.
enum class WorkKind : std::uint8_t {
  kMoving,   ///< Reads and writes: pointwise, norms, reductions, pools.
  kProduct,  ///< Products of matrices, attention, recurrent layers.
  /// Of images and sequences: whole vectors of 16 bytes of channels, all of
  /// them summed, over windows of up to 9 elements that skip none.
  kPlainConvolution,
  kConvolution,  ///< Of images and sequences, dense or depthwise.
  /// Transposed, dilated, in groups of several channels, or of volumes.
  kUnusualConvolution,
  /// In groups of several channels, and transposed or of volumes.
  kRareConvolution,
};
inline constexpr std::size_t kNumWorkKinds = 6;

/// As in files: `moving`, `product`, `plain_convolution`, `convolution`,
/// `unusual_convolution`, `rare_convolution`.
std::string_view WorkKindName(WorkKind kind);

/// A kernel of a node that launches several, on the CPU's timeline.
struct KernelLaunch {
  double queued_us = 0;  ///< CPU time of the node until the kernel is queued.
  double left_us = 0;    ///< GPU time of the kernel and those after it.
};

/// Analytic cost of one node; not calibrated.
struct NodeCost {
  double flops = 0;          ///< 2 per multiply-accumulate.
  double bytes_read = 0;     ///< From device memory, every operand once.
  double bytes_written = 0;  ///< To device memory.
  double gpu_us = 0;         ///< Time of its kernels; 0 for a view.
  double dispatch_us = 0;    ///< CPU time until all kernels are queued.
  CostBound bound = CostBound::kLaunch;
  WorkKind work = WorkKind::kMoving;  ///< Of its longest kernel.
  double energy_j = 0;  ///< While its kernels run, idle power included.
  double link_us = 0;   ///< Time on the link to other GPUs.
  /// Kernels that the GPU may have to wait for; empty: one, queued after
  /// dispatch_us.
  std::vector<KernelLaunch> launches = {};
  /// For an exchange: nodes that compute what it sends; for another node:
  /// exchanges whose results it reads.
  std::vector<NodeId> waits_for = {};
};

/// What a step does with the link to other GPUs, or with that to the host.
struct LinkFigures {
  double gb_s = 0;   ///< 10^9 bytes per second one way; 0: nothing is sent.
  double bytes = 0;  ///< Sent by this GPU; of the host's link both ways.
  /// Time in which the link is busy or the host, as it steps, computes.
  double busy_ms = 0;
};

/// Analytic cost of one step; not calibrated.
struct CostEstimate {
  std::vector<NodeCost> nodes;  ///< One per node of the graph.

  /// From the first dispatch until CPU and GPU are both done.
  double latency_ms = 0;
  double dispatch_ms = 0;  ///< CPU time of all dispatches.
  double gpu_ms = 0;       ///< Time in which the GPU runs kernels.

  /// latency_ms in three parts: bound by arithmetic (shrinks with more SMs),
  /// bound by memory (shrinks with more bandwidth), and the rest (launches,
  /// gaps while the CPU dispatches; the same on every slice).
  double compute_ms = 0;
  double memory_ms = 0;
  double overhead_ms = 0;

  double waiting_ms = 0;  ///< Time in which the GPU waits for CPU or link.
  LinkFigures gpu_link;   ///< To other GPUs.
  LinkFigures host_link;
  /// Part of latency_ms added by both links.
  double exposed_link_ms = 0;
  /// Part of latency_ms in which the GPU has nothing to do because it waits for
  /// other GPUs of a pipeline.
  double bubble_ms = 0;
  double energy_j = 0;  ///< Of kernels and waiting, over latency_ms.
  /// The part of energy_j that the idle chip would draw in latency_ms.
  double static_energy_j = 0;
  /// energy_j / latency_ms. On a slice: its share of the board, idle power and
  /// multiprocessors by SMs, memory by bandwidth.
  double average_power_w = 0;
};

/// Estimates what the step of `graph` costs on `device`, executed eagerly.
///
/// Operators become the kernels that they launch (docs/kernels.md); a kernel
/// costs its launch and the longer of its product (tiled over the SMs) and its
/// memory traffic, each at the efficiency that its class reaches. The step is
/// two timelines: the CPU queues kernel after kernel, each starts when it is
/// queued and its predecessor is done. docs/cost.md has the formulas and their
/// sources.
///
/// A node that only computes a table of integers from constants costs nothing,
/// nor do the indices of a lookup: exporters write out computations that a
/// network does once when it is built.
///
/// Exchanges between GPUs run on a third timeline, one after another, each
/// starts once its input is computed; a reader of a result waits for it.
///
/// Where the average power would be above the board's own limit, or a lower one
/// of the run, the clock falls until the limit is kept.
///
/// Throws Error(kInvalidArgument) for options outside their ranges, for
/// exchanges on a device without a link and for a device without bandwidth, SMs
/// or the needed peak rate, and for a power limit that is not above its idle
/// power or is above its own limit.
CostEstimate EstimateCost(const OperatorGraph& graph, const DeviceSpec& device,
                          const CostOptions& options = {});

}  // namespace foretell
