#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "foretell/device.h"
#include "foretell/figure.h"
#include "foretell/graph.h"
#include "src/features/kernel_features.h"
#include "src/kernels/kernel_class.h"
#include "src/kernels/kernels.h"

namespace foretell::learned {

/// Kind of terms that sum to a figure.
enum class TermSet {
  kKernels,  ///< Latency: the kernels of a forward pass, launches, a constant.
  /// As kKernels, but terms describe the device only through the kernel's
  /// behavior on it, so that corrections transfer to other devices.
  kPortableKernels,
  kReplay,  ///< Memory of training: a replay of one step, and the rest.
  /// As kPortableKernels, but one term per kernel, with edges from writers to
  /// readers.
  kKernelGraph,
  /// As kKernelGraph, of all phases of a step, with the time in which the GPU
  /// waits for the host as a term.
  kStepKernels,
  /// As kStepKernels, but without any time of the cost model.
  kRawKernels,
};

/// A figure of a graph as a sum of terms, each with an analytic amount and a
/// class; terms of one class get the same correction.
struct TermTable {
  std::vector<std::int32_t> classes;  ///< [num_terms], below num_classes.
  std::vector<float> features;        ///< [num_terms, num_features].
  std::vector<float> amounts;         ///< [num_terms], ms or MiB, at least 0.
  std::vector<float> totals;          ///< [num_totals], of the graph.
  /// [num_edges] each, of sets with edges: from writing to reading terms.
  std::vector<std::int64_t> sources = {};
  std::vector<std::int64_t> targets = {};

  std::size_t num_terms() const { return amounts.size(); }
};

/// Totals of a set of terms, and the widths of its tables.
struct TermLayout {
  Target target = Target::kLatency;
  int num_classes = 0;
  /// Classes >= this one are corrected by one number each; earlier ones by a
  /// network's output for the features.
  int first_plain_class = 0;
  int num_features = 0;
  int num_totals = 0;
  bool has_edges = false;  ///< Corrections also depend on neighbours.
};

/// Classes of kKernels: those of cost::KernelClass up to kOther, which
/// represents all classes after it, then these.
inline constexpr int kLaunchClass =
    static_cast<int>(cost::KernelClass::kOther) + 1;
inline constexpr int kStepClass = kLaunchClass + 1;
inline constexpr int kSerialClass = kStepClass + 1;
/// Of kStepKernels alone.
inline constexpr int kWaitClass = kSerialClass + 1;

/// Classes of kReplay.
enum class ReplayClass { kReserved, kContext, kParameters, kInputs };
inline constexpr int kNumReplayClasses = 4;

/// Names of the totals in their order.
inline constexpr std::array<std::string_view, 9> kKernelTotals = {
    "launches",      "macs",    "weight_bytes",  "kernel_bytes",
    "input_bytes",   "kernels", "channels_last", "torch_before_2_0",
    "torch_from_2_5"};
inline constexpr int kNumReplayTotals = 37;

/// Settings that determine the terms of a graph, in addition to their set.
struct TermContext {
  const DeviceSpec& device;
  const Run& run;               ///< How kernels run.
  const ContextModel& context;  ///< Determines the context in kReplay.
};

/// Time of a forward pass in ms: equal kernels once with their count, at 60 %
/// of the peaks that bound them, then 3 us per launch, 50 us per step, and
/// serial work of threads beyond that. Throws Error(kInvalidArgument) as
/// cost::ExpandKernels and cost::KernelFeatures do.
TermTable KernelTerms(const OperatorGraph& graph, const TermContext& context);
/// The same for TermSet::kPortableKernels.
TermTable PortableKernelTerms(const OperatorGraph& graph,
                              const TermContext& context);
/// The same for TermSet::kKernelGraph: kernels in the order of their launch,
/// equal ones apart, and KernelEdges between them.
TermTable KernelGraphTerms(const OperatorGraph& graph,
                           const TermContext& context);
/// Time of a whole step in ms, for TermSet::kStepKernels: the kernels of all
/// its phases as in KernelGraphTerms, what the GPU needs beyond their work
/// (launches above all), and how long it waits for the host: in sum the cost
/// model's. Throws as EstimateCost too.
TermTable StepKernelTerms(const OperatorGraph& graph,
                          const TermContext& context);
/// Time of a whole step in ms, for TermSet::kRawKernels: its kernels and edges
/// as in StepKernelTerms, but each at 1 byte per ps and 50 MACs per ps whatever
/// the device, with 3 us per launch and 50 us per step; without serial work and
/// the wait for the host, which are the cost model's.
TermTable RawKernelTerms(const OperatorGraph& graph,
                         const TermContext& context);
/// Memory of training in MiB: the segments that one step from an empty
/// allocator reserves, without optimizer; the CUDA context; the parameters; the
/// inputs. Throws Error(kInvalidArgument) as SimulateMemory does.
TermTable ReplayTerms(const OperatorGraph& graph, const TermContext& context);

/// Properties of a set.
struct TermSetRow {
  TermSet set;
  std::string_view name;  ///< In files and flags.
  /// Incremented when terms of a graph change so much that networks trained on
  /// earlier ones become inaccurate. 1: under autocast and in attention, by
  /// rules instead of the calls of a trace.
  int version;
  TermLayout layout;
  TermTable (*make)(const OperatorGraph& graph, const TermContext& context);
};
inline constexpr TermLayout kKernelLayout = {
    .num_classes = kSerialClass + 1,
    .first_plain_class = kLaunchClass,
    .num_features = cost::kNumKernelFeatures,
    .num_totals = static_cast<int>(kKernelTotals.size())};
inline constexpr TermLayout kKernelGraphLayout = [] {
  TermLayout layout = kKernelLayout;
  layout.has_edges = true;
  return layout;
}();
inline constexpr TermLayout kStepKernelLayout = [] {
  TermLayout layout = kKernelGraphLayout;
  layout.num_classes = kWaitClass + 1;
  return layout;
}();
inline constexpr TermLayout kReplayLayout = {.target = Target::kMemory,
                                             .num_classes = kNumReplayClasses,
                                             .num_totals = kNumReplayTotals};
inline constexpr int kKernelListVersion = 4;
/// In the order of TermSet.
inline constexpr auto kTermSets = std::to_array<TermSetRow>({
    {TermSet::kKernels, "kernels", kKernelListVersion, kKernelLayout,
     &KernelTerms},
    {TermSet::kPortableKernels, "portable-kernels", kKernelListVersion,
     kKernelLayout, &PortableKernelTerms},
    {TermSet::kReplay, "replay", 1, kReplayLayout, &ReplayTerms},
    {TermSet::kKernelGraph, "pmgns-kernels", kKernelListVersion,
     kKernelGraphLayout, &KernelGraphTerms},
    {TermSet::kStepKernels, "step-kernels", kKernelListVersion,
     kStepKernelLayout, &StepKernelTerms},
    {TermSet::kRawKernels, "raw-kernels", kKernelListVersion,
     kKernelGraphLayout, &RawKernelTerms},
});

constexpr const TermSetRow& RowOf(TermSet set) {
  return kTermSets[static_cast<std::size_t>(set)];
}
constexpr std::string_view TermSetName(TermSet set) { return RowOf(set).name; }
constexpr TermLayout LayoutOf(TermSet set) { return RowOf(set).layout; }
inline TermTable MakeTerms(TermSet set, const OperatorGraph& graph,
                           const TermContext& context) {
  return RowOf(set).make(graph, context);
}
std::optional<TermSet> ParseTermSet(std::string_view name);

}  // namespace foretell::learned
