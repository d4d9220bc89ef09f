#include "src/memory/link_buffers.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "src/core/units.h"
#include "src/graph/collective.h"

// NCCL's buffers, on one machine with NVLink:
//
//   channels x (10 + 2) MiB x (1 for rings + 2 for trees)
//   + 2 x 16 x 1 MiB x GPUs for NVLink SHARP
//
// A connection of a channel has a buffer of 10 MiB to receive and one of 2 MiB
// to send (NVIDIA/nccl, issue 1685, which lists them on eight H100s: 4 MiB of
// the simple protocol, 4.7 of LL128 and 0.5 of LL, in pieces of 2 MiB). A GPU
// has one neighbour in a ring and two in a tree, which all-reduces use too. A
// machine of H100s or A100s has 24 channels, one of V100s 12, as
// NCCL_DEBUG=INFO prints: two for 25 GB/s, at most 24. SHARP, from Hopper on
// and for more than two GPUs, has 16 channels there and back, of eight chunks
// of 128 KiB each (src/transport/nvls.cc, 2.2x). Each group of GPUs has a
// communicator, and so buffers, of its own.

namespace foretell::memory {
namespace {

constexpr double kSlowestNvLinkGbS = 64;  ///< PCIe 5 is slower.
constexpr double kChannelsPerGbS = 2.0 / 25;
constexpr std::int64_t kMostChannels = 24;
constexpr std::int64_t kConnectionBytes = (10 + 2) * kMiB;
constexpr std::int64_t kRingNeighbours = 1;
constexpr std::int64_t kTreeNeighbours = 2;
constexpr int kFirstWithSharp = 90;  ///< Compute capability.
constexpr std::int64_t kSharpBytesPerGpu = std::int64_t{2} * 16 * kMiB;

struct Exchanges {
  std::int64_t gpus = 0;
  bool has_sums = false;   ///< All-reduces.
  bool has_parts = false;  ///< Any except from one to others.
};

Exchanges ExchangesOf(const OperatorGraph& graph, std::string_view plan) {
  Exchanges found;
  for (const Node& node : graph.nodes()) {
    const std::optional<Collective> one = CollectiveOf(node);
    if (!one || one->plan != plan) continue;
    found.gpus = std::max(found.gpus, one->gpus);
    found.has_sums |= one->target == kAllReduce;
    found.has_parts |= one->target != kBroadcast && one->target != kSend &&
                       one->target != kReceive;
  }
  return found;
}

}  // namespace

std::int64_t LinkBufferBytes(const OperatorGraph& graph,
                             const DeviceSpec& device) {
  if (device.link_gb_s < kSlowestNvLinkGbS) return 0;
  const auto channels =
      std::min(kMostChannels,
               static_cast<std::int64_t>(kChannelsPerGbS * device.link_gb_s));
  std::int64_t bytes = 0;
  for (const CollectiveGroup& group : GroupsOf(graph)) {
    const Exchanges exchanges = ExchangesOf(graph, group.plan);
    const std::int64_t neighbours =
        kRingNeighbours + (exchanges.has_sums ? kTreeNeighbours : 0);
    const bool has_sharp = device.compute_capability >= kFirstWithSharp &&
                           exchanges.gpus > 2 && exchanges.has_parts;
    bytes += channels * neighbours * kConnectionBytes +
             (has_sharp ? kSharpBytesPerGpu * exchanges.gpus : 0);
  }
  return bytes;
}

}  // namespace foretell::memory
