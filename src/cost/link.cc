#include "src/cost/link.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "foretell/error.h"
#include "src/core/units.h"
#include "src/graph/collective.h"

// Exchanges between GPUs in a ring, which is how NCCL does them on one machine.
//
//   time = bytes sent / (0.8 x link) + 3 us x hops
//
// Of N GPUs each sends (N-1)/N of the tensor in N-1 hops to gather or to
// scatter it; averaging is both, one after the other; sending from one to all
// is the whole tensor. All to all send (N-1)/N of it, N-1 parts one after
// another. From one to another it is one hop, which counts as the sender's; the
// receiver waits for it; if all GPUs do so at once, it is one hop, too. Left
// out: NVLink SHARP, by which all-reduces of H100s are faster than a ring, the
// multiprocessors that NCCL takes away from other kernels, and networks between
// machines.
//
// The host is reached over PCIe: 3.0 up to compute capability 7.5, 4.0 for
// 8.x, 5.0 since 9.0, x16 unless the device's own link is PCIe and narrower
// (data sheets of these GPUs; PCI-SIG: 8, 16, 32 GT/s a lane, 128b/130b). An
// optimizer on the host reads the parameter, its gradient and states, and
// writes all but the gradient, at the bandwidth of two channels of DDR4-3200.
// torchao's README (optim/, Ryzen 5600, 1.1 billion parameters in BF16) has
// 0.25 s more per step; this formula is 0.31 s without what the GPU saves. An
// operator that ONNX Runtime runs on the host moves its tensors at that
// bandwidth, which is judgement and too fast where it computes much.

namespace foretell::cost {
namespace {

/// What NCCL's protocol leaves of NVLink, 370 of 450 GB/s (NVIDIA/nccl-tests,
/// issue 212).
constexpr double kReachedShareOfLink = 0.8;
/// An all-reduce of 8 bytes over eight GPUs, 14 hops, takes 42 us
/// (NVIDIA/nccl, issue 1530).
constexpr double kHopUs = 3;

/// Two channels of 64 bits at 3,200 MT/s (JEDEC JESD79-4).
constexpr double kHostMemoryGbS = 51.2;
constexpr double kPcie3GbS = 15.75;  ///< x16; each generation doubles it.

struct RingRow {
  std::string_view target;
  double rounds;         ///< Times N-1 hops.
  bool sends_all_parts;  ///< All of the tensor, rather than (N-1)/N a round.
};

constexpr RingRow kRings[] = {{kAllReduce, 2, false},
                              {kAllGather, 1, false},
                              {kReduceScatter, 1, false},
                              {kAllToAll, 1, false},
                              {kBroadcast, 1, true}};

LinkUse UseOf(const Collective& collective) {
  if (collective.target == kSend || collective.target == kRotate) {
    return {.bytes = static_cast<double>(collective.bytes),
            .hops = 1,
            .waits_for = {}};
  }
  const auto* const ring =
      std::ranges::find(kRings, collective.target, &RingRow::target);
  if (ring == std::end(kRings) || collective.gpus < 2) return {};
  const auto gpus = static_cast<double>(collective.gpus);
  const double share = ring->sends_all_parts ? 1 : (gpus - 1) / gpus;
  return {.bytes = ring->rounds * share * static_cast<double>(collective.bytes),
          .hops = ring->rounds * (gpus - 1),
          .waits_for = {}};
}

double HostUs(double bytes) {
  return bytes / (kBytesPerUsPerGbS * kHostMemoryGbS);
}

/// Least time of a copy that the CPU waits for, as ONNX Runtime's
/// (MemcpyToHost): a launch and a synchronisation. Judgement.
constexpr double kAwaitedCopyUs = 10;

/// Of an operator on the host, which moves its tensors there.
LinkUse UseOfRun(const OperatorGraph& graph, const Node& node) {
  double bytes = 0;
  for (const auto* const ids : {&node.inputs, &node.outputs}) {
    for (const ValueId id : *ids) {
      bytes += static_cast<double>(graph.value(id).type.Bytes());
    }
  }
  return {.waits_for = {}, .is_of_host = true, .host_us = HostUs(bytes)};
}

/// Of the tensor that the node reads or makes, kBytesAttribute if it states
/// them.
LinkUse UseOfHost(const OperatorGraph& graph, const Node& node) {
  if (node.target == kRunOnHost) return UseOfRun(graph, node);
  const ValueId value =
      node.inputs.empty() ? node.outputs.front() : node.inputs.front();
  const auto bytes = static_cast<double>(
      node.Int(kBytesAttribute, graph.value(value).type.Bytes()));
  const auto states = static_cast<double>(node.Int(kStatesAttribute, 0));
  const double moved =
      node.target == kStepOnHost ? (3 + 2 * states) * bytes : 0;
  const bool is_awaited = graph.info().runtime.runtime == Runtime::kOnnxRuntime;
  return {.bytes = bytes,
          .hops = 0,
          .waits_for = {},
          .is_of_host = true,
          .host_us = is_awaited ? kAwaitedCopyUs : HostUs(moved)};
}

double HostLinkGbS(const DeviceSpec& device) {
  const double pcie = kPcie3GbS * (device.compute_capability >= 90   ? 4
                                   : device.compute_capability >= 80 ? 2
                                                                     : 1);
  return device.link_gb_s > 0 ? std::min(pcie, device.link_gb_s) : pcie;
}

}  // namespace

std::vector<LinkUse> LinkUses(const OperatorGraph& graph) {
  const auto is_exchange = [](const Node& node) {
    return node.kind == OpKind::kCollective;
  };
  if (std::ranges::none_of(graph.nodes(), is_exchange)) return {};
  std::vector<LinkUse> uses;
  for (const Node& node : graph.nodes()) {
    const std::optional<Collective> collective = CollectiveOf(node);
    uses.push_back(collective       ? UseOf(*collective)
                   : IsOfHost(node) ? UseOfHost(graph, node)
                                    : LinkUse{});
    for (const ValueId input : node.inputs) {
      const NodeId producer = graph.value(input).producer;
      if (producer == kNone) continue;
      if (is_exchange(node) || is_exchange(graph.node(producer))) {
        uses.back().waits_for.push_back(producer);
      }
    }
  }
  return uses;
}

double LinkUs(const LinkUse& use, double gb_s) {
  if (use.bytes <= 0) return use.host_us;
  return std::max(use.host_us,
                  use.bytes / (kReachedShareOfLink * kBytesPerUsPerGbS * gb_s) +
                      kHopUs * use.hops);
}

LinkSpeeds SpeedsOf(const DeviceSpec& device, const CostOptions& options,
                    const std::vector<LinkUse>& uses) {
  const auto has = [&uses](bool of_host) {
    return std::ranges::any_of(uses, [of_host](const LinkUse& use) {
      return use.bytes > 0 && use.is_of_host == of_host;
    });
  };
  LinkSpeeds speeds;
  if (has(true)) speeds.to_host = HostLinkGbS(device);
  const bool is_hosts_alone = has(true) && !has(false);
  if (uses.empty() || is_hosts_alone) return speeds;
  speeds.between_gpus =
      options.link_gb_s > 0 ? options.link_gb_s : device.link_gb_s;
  if (speeds.between_gpus > 0) return speeds;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("device {}: link_gb_s is missing: its bandwidth to "
                          "other GPUs is unknown",
                          device.name));
}

}  // namespace foretell::cost
