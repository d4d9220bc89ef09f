// Latency of a forward pass as a sum over the kernels that it launches.
//
// A kernel that is bound by its launch alone is not worth a row: it only
// counts as a launch. All others enter as their roofline, bytes over bandwidth
// plus arithmetic over peak, which a network then corrects by what it knows of
// such kernels. The launches and what a step costs apart from its kernels are
// rows too, of classes of their own.
//
// Equal kernels are one row, except in a set with edges: there their neighbours
// differ.
//
// kRawKernels shows what the cost model's times are worth to a network: there a
// kernel starts from its bytes and products at one rate on every device.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "foretell/cost.h"
#include "src/cost/launched_step.h"
#include "src/cost/machine.h"
#include "src/features/kernel_edges.h"
#include "src/features/terms.h"

namespace foretell::learned {
namespace {

/// Where a network starts from; any figures near the truth would do.
constexpr double kTypicalShareOfPeak = 0.6;
constexpr double kLaunchMs = 3e-3;
constexpr double kStepMs = 50e-3;
constexpr double kMsPerUs = 1e-3;
/// Of a kernel whose time no model of the device gives; near those of the cards
/// that labels are of.
constexpr double kAnyBytesPerUs = 1e6;
constexpr double kAnyMacsPerUs = 5e7;
/// Brings log2(1 + x) of the totals near [-1, 1].
constexpr double kTotalDivisor = 20;
constexpr double kTotalOffset = 1;

/// Features that are of the device alone.
constexpr std::array<std::string_view, 5> kDeviceFeatures = {
    "bandwidth", "peak_fp16", "peak_fp32", "sms", "l2"};

/// The feature that is a time of the cost model.
constexpr std::array<std::string_view, 1> kModelledFeatures = {"work"};

/// Where the correction of a kernel starts from.
enum class Start {
  kRoofline,   ///< A network that learns from the device.
  kCostModel,  ///< One for other devices.
  kVolume,     ///< Bytes and products alone.
};

/// Features that are 0 in a set of terms.
std::span<const std::string_view> HiddenFeatures(Start start) {
  switch (start) {
    case Start::kRoofline:
      return {};
    case Start::kCostModel:
      return kDeviceFeatures;
    case Start::kVolume:
      return kModelledFeatures;
  }
  return {};
}

/// Sums over a graph.
struct KernelSums {
  double launches = 0;
  double macs = 0;
  double weight_bytes = 0;
  double kernel_bytes = 0;
  double input_bytes = 0;
  double kernels = 0;    ///< That differ, and are more than a launch.
  double serial_us = 0;  ///< Of threads, beyond the time of their bytes.
};

/// In the order of kKernelTotals.
std::vector<float> TotalsOf(const KernelSums& sums, const Run& run) {
  std::vector<float> totals;
  for (const double sum : {sums.launches, sums.macs, sums.weight_bytes,
                           sums.kernel_bytes, sums.input_bytes, sums.kernels}) {
    totals.push_back(
        static_cast<float>(std::log2(1 + sum) / kTotalDivisor - kTotalOffset));
  }
  using enum TorchGeneration;
  const TorchGeneration generation = run.torch.Generation();
  for (const bool flag : {run.channels_last, generation == kNoFusedAttention,
                          generation == kFloatAttentionFallback}) {
    totals.push_back(flag ? 1 : 0);
  }
  return totals;
}

double InputBytes(const OperatorGraph& graph) {
  double bytes = 0;
  for (const ValueId id : graph.inputs()) {
    bytes += static_cast<double>(graph.value(id).type.Bytes());
  }
  return bytes;
}

/// The forward pass alone, which is all that a network has learned of.
std::vector<cost::Kernel> ForwardKernels(const OperatorGraph& graph,
                                         const Run& run) {
  std::vector<cost::Kernel> kernels = cost::ExpandKernels(graph, run);
  std::erase_if(kernels, [&graph](const cost::Kernel& kernel) {
    return graph.node(kernel.node).phase != Phase::kForward;
  });
  return kernels;
}

std::int32_t ClassOf(const cost::Kernel& kernel) {
  return static_cast<std::int32_t>(
      std::min(kernel.kernel_class, cost::KernelClass::kOther));
}

/// What is alike in all terms of a graph.
struct KernelView {
  cost::Machine machine;
  const Run& run;
  Start start;
};

KernelView ViewOf(const TermContext& context, Start start) {
  // A network that learns from a device finds out what the device reaches, and
  // does so better from the data sheet's peaks (docs/how_learned.md).
  cost::Machine machine = cost::MakeMachine(context.device, {});
  machine.use_measured_rates = start == Start::kCostModel;
  return {machine, context.run, start};
}

/// Appends the features of a kernel, 0 for those that its set hides.
void AppendFeatures(const cost::Kernel& kernel, const KernelView& view,
                    std::vector<float>& features) {
  const auto values = cost::KernelFeatures(kernel, view.machine, view.run);
  const std::span<const std::string_view> hidden = HiddenFeatures(view.start);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_hidden =
        std::ranges::find(hidden, cost::kKernelFeatures[i].name) !=
        hidden.end();
    features.push_back(is_hidden ? 0 : static_cast<float>(values[i]));
  }
}

double RooflineUs(const cost::Kernel& kernel, const cost::Machine& machine) {
  const cost::KernelRoofline roofline = cost::RooflineOf(kernel, machine);
  return (roofline.memory_us + roofline.arithmetic_us) / kTypicalShareOfPeak;
}

double StartUs(const cost::Kernel& kernel, const KernelView& view) {
  switch (view.start) {
    case Start::kRoofline:
      return RooflineUs(kernel, view.machine);
    case Start::kCostModel:
      return cost::WorkUs(kernel, view.machine);
    case Start::kVolume:
      return cost::Real(kernel.Bytes()) / kAnyBytesPerUs +
             cost::Real(kernel.macs) / kAnyMacsPerUs;
  }
  return 0;
}

void AddKernel(const cost::Kernel& kernel, const KernelView& view,
               TermTable& table) {
  table.classes.push_back(ClassOf(kernel));
  AppendFeatures(kernel, view, table.features);
  table.amounts.push_back(static_cast<float>(cost::Real(kernel.count) *
                                             StartUs(kernel, view) * kMsPerUs));
}

KernelSums SumsOf(const OperatorGraph& graph,
                  const std::vector<cost::Kernel>& merged,
                  const cost::Machine& machine) {
  KernelSums sums{.input_bytes = InputBytes(graph)};
  for (const cost::Kernel& kernel : merged) {
    const auto count = static_cast<double>(kernel.count);
    sums.launches += count;
    sums.macs += count * static_cast<double>(kernel.macs);
    sums.weight_bytes += count * static_cast<double>(kernel.bytes_weight);
    sums.kernel_bytes += count * static_cast<double>(kernel.Bytes());
    if (cost::IsOnlyALaunch(kernel)) continue;
    sums.kernels += 1;
    const cost::KernelRoofline roofline = cost::RooflineOf(kernel, machine);
    sums.serial_us +=
        count * std::max(0.0, roofline.serial_us - roofline.memory_us);
  }
  return sums;
}

void AddPlainTerm(std::int32_t kernel_class, double ms, TermTable& table) {
  table.classes.push_back(kernel_class);
  table.features.insert(table.features.end(), cost::kNumKernelFeatures, 0);
  table.amounts.push_back(static_cast<float>(ms));
}

void AddPlainTerms(const KernelSums& sums, TermTable& table) {
  AddPlainTerm(kLaunchClass, sums.launches * kLaunchMs, table);
  AddPlainTerm(kStepClass, kStepMs, table);
  if (sums.serial_us > 0) {
    AddPlainTerm(kSerialClass, sums.serial_us * kMsPerUs, table);
  }
}

TermTable TermsOfKernels(const OperatorGraph& graph, const TermContext& context,
                         Start start) {
  const KernelView view = ViewOf(context, start);
  const std::vector<cost::Kernel> merged =
      cost::MergeEqual(ForwardKernels(graph, context.run));
  TermTable table;
  for (const cost::Kernel& kernel : merged) {
    if (!cost::IsOnlyALaunch(kernel)) AddKernel(kernel, view, table);
  }
  const KernelSums sums = SumsOf(graph, merged, view.machine);
  AddPlainTerms(sums, table);
  table.totals = TotalsOf(sums, context.run);
  return table;
}

/// Kernels with their edges, and the totals.
KernelSums AddGraph(const OperatorGraph& graph, const KernelView& view,
                    std::vector<cost::Kernel> kernels, TermTable& table) {
  const KernelSums sums =
      SumsOf(graph, cost::MergeEqual(kernels), view.machine);
  std::erase_if(kernels, &cost::IsOnlyALaunch);
  KernelEdges edges = EdgesOfKernels(graph, kernels);
  const KernelGraph merged = MergeAlike({std::move(kernels), std::move(edges)});
  for (const cost::Kernel& kernel : merged.kernels) {
    AddKernel(kernel, view, table);
  }
  table.sources = merged.edges.sources;
  table.targets = merged.edges.targets;
  table.totals = TotalsOf(sums, view.run);
  return sums;
}

}  // namespace

TermTable KernelTerms(const OperatorGraph& graph, const TermContext& context) {
  return TermsOfKernels(graph, context, Start::kRoofline);
}

TermTable PortableKernelTerms(const OperatorGraph& graph,
                              const TermContext& context) {
  return TermsOfKernels(graph, context, Start::kCostModel);
}

TermTable KernelGraphTerms(const OperatorGraph& graph,
                           const TermContext& context) {
  TermTable table;
  AddPlainTerms(AddGraph(graph, ViewOf(context, Start::kCostModel),
                         ForwardKernels(graph, context.run), table),
                table);
  return table;
}

TermTable StepKernelTerms(const OperatorGraph& graph,
                          const TermContext& context) {
  const CostOptions options{.run = context.run};
  cost::LaunchedStep step = cost::LaunchStep(graph, options);
  const CostEstimate estimate =
      cost::EstimateLaunched(step, context.device, options);
  TermTable table;
  AddGraph(graph, ViewOf(context, Start::kCostModel), std::move(step.kernels),
           table);
  const double work_ms =
      std::accumulate(table.amounts.begin(), table.amounts.end(), 0.0);
  AddPlainTerm(kLaunchClass, std::max(0.0, estimate.gpu_ms - work_ms), table);
  AddPlainTerm(kWaitClass, estimate.waiting_ms, table);
  return table;
}

TermTable RawKernelTerms(const OperatorGraph& graph,
                         const TermContext& context) {
  TermTable table;
  KernelSums sums = AddGraph(graph, ViewOf(context, Start::kVolume),
                             cost::ExpandKernels(graph, context.run), table);
  sums.serial_us = 0;
  AddPlainTerms(sums, table);
  return table;
}

}  // namespace foretell::learned
