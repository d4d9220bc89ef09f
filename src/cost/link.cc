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
// is the whole tensor. From one to another it is one hop, which counts as the
// sender's; the receiver waits for it. Left out: NVLink SHARP, by which
// all-reduces of H100s are faster than a ring, the multiprocessors that NCCL
// takes away from other kernels, and networks between machines.

namespace foretell::cost {
namespace {

/// What NCCL's protocol leaves of NVLink, 370 of 450 GB/s (NVIDIA/nccl-tests,
/// issue 212).
constexpr double kReachedShareOfLink = 0.8;
/// An all-reduce of 8 bytes over eight GPUs, 14 hops, takes 42 us
/// (NVIDIA/nccl, issue 1530).
constexpr double kHopUs = 3;

struct RingRow {
  std::string_view target;
  double rounds;         ///< Times N-1 hops.
  bool sends_all_parts;  ///< All of the tensor, rather than (N-1)/N a round.
};

constexpr RingRow kRings[] = {{kAllReduce, 2, false},
                              {kAllGather, 1, false},
                              {kReduceScatter, 1, false},
                              {kBroadcast, 1, true}};

LinkUse UseOf(const Collective& collective) {
  if (collective.target == kSend) {
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

}  // namespace

std::vector<LinkUse> LinkUses(const OperatorGraph& graph) {
  const auto is_exchange = [](const Node& node) {
    return node.kind == OpKind::kCollective;
  };
  if (std::ranges::none_of(graph.nodes(), is_exchange)) return {};
  std::vector<LinkUse> uses;
  for (const Node& node : graph.nodes()) {
    const std::optional<Collective> collective = CollectiveOf(node);
    uses.push_back(collective ? UseOf(*collective) : LinkUse{});
    for (const ValueId input : node.inputs) {
      const NodeId producer = graph.value(input).producer;
      if (producer == kNone) continue;
      if (collective || is_exchange(graph.node(producer))) {
        uses.back().waits_for.push_back(producer);
      }
    }
  }
  return uses;
}

double LinkUs(const LinkUse& use, double gb_s) {
  if (use.bytes <= 0) return 0;
  return use.bytes / (kReachedShareOfLink * kBytesPerUsPerGbS * gb_s) +
         kHopUs * use.hops;
}

double LinkGbS(const DeviceSpec& device, const CostOptions& options) {
  if (options.link_gb_s > 0) return options.link_gb_s;
  if (device.link_gb_s > 0) return device.link_gb_s;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("device {}: link_gb_s is missing: its bandwidth to "
                          "other GPUs is unknown",
                          device.name));
}

}  // namespace foretell::cost
