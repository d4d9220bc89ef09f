// Memory of training as a sum: what one step reserves, the context, and shares
// of the parameters and of the inputs that published labels show on top of it
// (copies that an unstated optimizer and data loader keep). A network finds
// the shares and corrects the sum by the totals below.

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "src/core/units.h"
#include "src/features/terms.h"
#include "src/graph/storage_bytes.h"
#include "src/memory/cold_step.h"
#include "src/memory/least_memory.h"
#include "src/memory/workspace.h"

namespace foretell::learned {
namespace {

/// Shares of parameters and inputs that fit the published peaks on an A100
/// (docs/networks.md); a network starts from them.
constexpr double kParameterShare = 1.36;
constexpr double kInputShare = 3.9;

/// Kinds of forward operators whose results count apart.
constexpr std::array<OpKind, 5> kCountedKinds = {
    OpKind::kLinear, OpKind::kMatmul, OpKind::kAttention, OpKind::kLayerNorm,
    OpKind::kBatchNorm};

/// MiB of a forward pass by what makes them.
struct ForwardSums {
  std::array<double, memory::kNumConvolutionClasses> images = {};
  std::array<double, memory::kNumConvolutionClasses> largest_image = {};
  std::array<double, memory::kNumConvolutionClasses> weights = {};
  std::array<double, kCountedKinds.size() + 1> results = {};
};

double ResultMib(const OperatorGraph& graph, const Node& node) {
  std::int64_t bytes = 0;
  for (const ValueId id : node.outputs) bytes += graph.value(id).type.Bytes();
  return ToMiB(bytes);
}

ForwardSums SumForward(const OperatorGraph& graph) {
  ForwardSums sums;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward) continue;
    if (const auto facts = memory::ConvolutionFactsOf(graph, node)) {
      const auto at = static_cast<std::size_t>(facts->convolution);
      const double image = ToMiB(facts->image_bytes);
      sums.images[at] += image;
      sums.largest_image[at] = std::max(sums.largest_image[at], image);
      sums.weights[at] += ToMiB(facts->weight_bytes);
      continue;
    }
    const auto* kind = std::ranges::find(kCountedKinds, node.kind);
    sums.results[static_cast<std::size_t>(kind - kCountedKinds.begin())] +=
        ResultMib(graph, node);
  }
  return sums;
}

double RoleMib(const OperatorGraph& graph, TensorRole role) {
  return ToMiB(BytesOfRole(graph, role));
}

double LargestActivationMib(const OperatorGraph& graph) {
  std::int64_t largest = 0;
  for (const Storage& storage : graph.storages()) {
    const bool made = storage.role == TensorRole::kActivation ||
                      storage.role == TensorRole::kSaved ||
                      storage.role == TensorRole::kBackwardTemporary;
    if (made) largest = std::max(largest, storage.bytes);
  }
  return ToMiB(largest);
}

/// Numbers of the graph as input of a network, about 0 to 1 in size.
class Totals {
 public:
  /// log2(1 + 100 · part / whole) / 8: percents of the whole.
  void AddShare(double part, double whole) {
    Add(std::log2(1 + 100 * part / whole) / 8);
  }
  void AddLog(double x) { Add(std::log2(std::max(x, 1e-3)) / 16); }
  /// log2 of a ratio near 1.
  void AddRatio(double ratio) { Add(std::log2(ratio)); }
  std::vector<float> Take() { return std::move(totals_); }

 private:
  void Add(double value) { totals_.push_back(static_cast<float>(value)); }
  std::vector<float> totals_;
};

/// The step as it runs where `limit_mib` are left for its segments: on a device
/// that is nearly full cached ones are given back. As it would run without a
/// limit where that does not help.
memory::ColdStep ReplayWithin(double limit_mib, const OperatorGraph& graph,
                              const MemoryOptions& options) {
  const memory::ColdStep free = memory::ReplayColdStep(graph, options);
  if (ToMiB(free.reserved) <= limit_mib || limit_mib <= 0) return free;
  MemoryOptions limited = options;
  limited.allocator.device_limit_bytes =
      static_cast<std::int64_t>(limit_mib * kMiB);
  const memory::ColdStep step = memory::ReplayColdStep(graph, limited);
  return step.fits ? step : free;
}

}  // namespace

TermTable ReplayTerms(const OperatorGraph& graph, const TermContext& context) {
  MemoryOptions options{.device = context.device,
                        .context = context.context,
                        .torch = context.run.torch};
  const double context_mib = context.context.ContextMib(context.device) +
                             memory::CublasHandlesMib(graph, options);
  const double parameters = RoleMib(graph, TensorRole::kParameter);
  const double inputs = RoleMib(graph, TensorRole::kInput);
  const double beside =
      context_mib + kParameterShare * parameters + kInputShare * inputs;
  const memory::ColdStep step = ReplayWithin(
      static_cast<double>(context.device.usable_mib) - beside, graph, options);
  options.with_workspaces = false;
  const memory::ColdStep bare = memory::ReplayColdStep(graph, options);
  const double reserved = ToMiB(step.reserved);

  TermTable table;
  const auto add = [&table](ReplayClass replay_class, double mib) {
    table.classes.push_back(static_cast<std::int32_t>(replay_class));
    table.amounts.push_back(static_cast<float>(mib));
  };
  add(ReplayClass::kReserved, reserved);
  add(ReplayClass::kContext, context_mib);
  add(ReplayClass::kParameters, kParameterShare * parameters);
  add(ReplayClass::kInputs, kInputShare * inputs);

  double total = 0;
  for (const float amount : table.amounts) total += amount;
  const ForwardSums sums = SumForward(graph);
  Totals totals;
  totals.AddLog(total);
  totals.AddShare(parameters, total);
  totals.AddShare(inputs, total);
  totals.AddRatio((ToMiB(step.allocated) + 1) / (reserved + 1));
  totals.AddRatio((ToMiB(bare.reserved) + 1) / (reserved + 1));
  for (const double image : sums.images) totals.AddShare(image, total);
  for (const double image : sums.largest_image) totals.AddShare(image, total);
  for (const double weight : sums.weights) totals.AddShare(weight, total);
  for (const double result : sums.results) totals.AddShare(result, total);
  totals.AddLog(LargestActivationMib(graph));
  totals.AddLog(static_cast<double>(graph.nodes().size()));
  totals.AddLog(static_cast<double>(graph.info().batch));
  totals.AddLog(inputs / static_cast<double>(graph.info().batch));
  totals.AddLog(static_cast<double>(graph.events().size()));
  table.totals = totals.Take();
  return table;
}

}  // namespace foretell::learned
