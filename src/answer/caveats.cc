#include "src/answer/caveats.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "foretell/error.h"
#include "src/core/numbers.h"
#include "src/core/text.h"
#include "src/core/units.h"
#include "src/device/compute_capability.h"
#include "src/graph/attributes.h"
#include "src/graph/collective.h"
#include "src/graph/unfolded_convolution.h"

namespace foretell {
namespace {

bool IsKnown(const Node& node) { return node.kind != OpKind::kOther; }

/// `part / whole`, where nothing is covered entirely.
double Share(double part, double whole) {
  return whole > 0 ? part / whole : 1.0;
}

void WarnOfUnknownOperators(const Coverage& coverage,
                            std::vector<std::string>& warnings) {
  if (coverage.unknown_operators.empty()) return;
  warnings.push_back(
      "operators of unknown kind, whose cost is guessed from the size of "
      "their tensors: " +
      Joined(coverage.unknown_operators));
}

void WarnOfWeakModels(const OperatorGraph& graph,
                      std::vector<std::string>& warnings) {
  const auto has = [&graph](auto predicate) {
    return std::ranges::any_of(graph.nodes(), predicate);
  };
  if (graph.nodes().empty()) {
    warnings.push_back("the graph has no operators");
  }
  if (has([](const Node& node) {
        return node.kind == OpKind::kRecurrent ||
               node.kind == OpKind::kRecurrentBackward;
      })) {
    warnings.push_back(
        "recurrent layers: cuDNN's workspace and reserve are estimates and "
        "latency is a guess per step");
  }
  if (has([&graph](const Node& node) {
        return node.macs > 0 && !node.inputs.empty() &&
               graph.value(node.inputs.front()).type.dtype == DType::kF64;
      })) {
    warnings.push_back(
        "matrix products in double precision are taken at half the FP32 rate");
  }
}

void WarnOfUnfolded(const OperatorGraph& graph, const TorchVersion& torch,
                    std::vector<std::string>& warnings) {
  const bool unfolds = std::ranges::any_of(
      graph.nodes(),
      [&](const Node& node) { return RunsUnfolded(graph, node, torch); });
  if (!unfolds) return;
  warnings.push_back(fmt::format(
      "PyTorch {} runs convolutions of three dimensions in 16 bits without "
      "cuDNN, slowly and with more memory; 2.8, 2.10 and FP32 use cuDNN",
      ToString(torch)));
}

/// "ONNX Runtime runs 3 operators on the CPU, …: Tan, Unique (2)"
void WarnOfHostOperators(const OperatorGraph& graph,
                         std::vector<std::string>& warnings) {
  std::map<std::string, std::size_t> counts;
  std::size_t copies = 0;
  std::size_t operators = 0;
  for (const Node& node : graph.nodes()) {
    if (node.target == kRunOnHost) {
      ++counts[std::string(TextOf(node, kOperatorAttribute))];
      ++operators;
    }
    copies += node.target == kToHost || node.target == kFromHost ? 1 : 0;
  }
  if (counts.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, count] : counts) {
    names.push_back(count == 1 ? name : fmt::format("{} ({})", name, count));
  }
  warnings.push_back(fmt::format(
      "ONNX Runtime runs {} on the CPU, as its CUDA provider has no kernel for "
      "them: {}; tensors are copied to and from the GPU {} times",
      Counted(operators, "operator"), Joined(names), copies));
}

void WarnOfMemory(const DeviceSpec& device, const Prediction& prediction,
                  std::vector<std::string>& warnings) {
  const double total_mib = ToMiB(prediction.memory.total);
  const mig::Fit fit = mig::JudgeMemory(total_mib, prediction.cache_mib,
                                        static_cast<double>(device.usable_mib));
  if (fit == mig::Fit::kFits) return;
  const bool runs = fit == mig::Fit::kFitsWithoutCache;
  warnings.push_back(fmt::format(
      "the step {} about {} MiB and {} has {}: {}", runs ? "takes" : "needs",
      static_cast<std::int64_t>(runs ? total_mib
                                     : total_mib - prediction.cache_mib),
      device.name, device.usable_mib,
      runs ? "it only fits by emptying the allocator's cache, whose time is "
             "not included"
           : "latency and energy are hypothetical"));
}

/// What needs a GPU of a generation.
struct CapabilityRow {
  std::string_view target;
  std::string_view what;
  int least;
  std::string_view format = {};  ///< Of the node's attribute; empty: any.
  int below = 0;                 ///< 0: all later ones.

  bool Needs(const Node& node) const {
    return node.target == target &&
           (format.empty() || TextOf(node, "format") == format);
  }
};

constexpr std::string_view kTeQuantize = "transformer_engine::quantize";
// The ranges of TransformerEngine are those of its pytorch/quantization.py.
constexpr CapabilityRow kCapabilities[] = {
    {"torchao::mxfp8_quantize", "blocks of 8-bit floats with scales",
     device::kBlackwellData},
    {kTeQuantize, "TransformerEngine's blocks of 8-bit floats",
     device::kBlackwellData, "mxfp8", device::kGeForceBlackwell},
    {kTeQuantize, "blocks of 4-bit floats", device::kBlackwellData, "nvfp4"},
    {kTeQuantize, "products of 8-bit floats", device::kAda},
    {"_scaled_mm", "products of 8-bit floats", device::kAda}};

}  // namespace

Coverage CoverageOf(const OperatorGraph& graph, const CostEstimate& cost) {
  double operators = 0;
  double macs = 0;
  double known_macs = 0;
  double bytes = 0;
  double known_bytes = 0;
  std::set<std::string> unknown;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const double node_macs = static_cast<double>(node.macs);
    const double node_bytes =
        cost.nodes[i].bytes_read + cost.nodes[i].bytes_written;
    macs += node_macs;
    bytes += node_bytes;
    if (!IsKnown(node)) {
      unknown.insert(node.target);
      continue;
    }
    operators += 1;
    known_macs += node_macs;
    known_bytes += node_bytes;
  }
  return {
      .operators = Share(operators, static_cast<double>(graph.nodes().size())),
      .macs = Share(known_macs, macs),
      .bytes = Share(known_bytes, bytes),
      .unknown_operators = {unknown.begin(), unknown.end()}};
}

void RequireRuns(const OperatorGraph& graph, const DeviceSpec& device) {
  // 0: a device file that does not state it.
  const int capability = device.compute_capability;
  if (capability == 0) return;
  for (const CapabilityRow& row : kCapabilities) {
    const bool has_end = row.below > 0;
    if (capability >= row.least && (!has_end || capability < row.below)) {
      continue;
    }
    if (std::ranges::none_of(
            graph.nodes(), [&](const Node& node) { return row.Needs(node); })) {
      continue;
    }
    const std::string end = has_end
                                ? fmt::format(" and less than {}.{}",
                                              row.below / 10, row.below % 10)
                                : "";
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} need compute capability {}.{}{}, {} has {}.{}",
                            row.what, row.least / 10, row.least % 10, end,
                            device.name, capability / 10, capability % 10));
  }
}

std::vector<std::string> CaveatsOf(const OperatorGraph& graph,
                                   const TorchVersion& torch,
                                   const DeviceSpec& device,
                                   const Prediction& prediction) {
  std::vector<std::string> warnings;
  WarnOfUnknownOperators(prediction.coverage, warnings);
  WarnOfWeakModels(graph, warnings);
  WarnOfUnfolded(graph, torch, warnings);
  WarnOfHostOperators(graph, warnings);
  WarnOfMemory(device, prediction, warnings);
  return warnings;
}

}  // namespace foretell
