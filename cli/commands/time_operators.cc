// GPU time of many small graphs in text form by the analytic model, for
// scripts/published/score_operators.py: thousands of published operators in one
// process. With --host, which says what launches them, the latency of each as a
// whole step, for scripts/lib/kernelbench.py. Not for users.

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/command.h"
#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "foretell/graph_io.h"
#include "src/core/files.h"
#include "src/cost/launched_step.h"
#include "src/runtime/lower.h"

namespace foretell::cli {
namespace {

constexpr double kUsPerMs = 1e3;

struct TimeOperatorsOptions {
  std::string graphs;
  DeviceFlags device;
  CostOptions cost;
  bool no_tf32 = false;
  bool work = false;
  std::optional<HostSpec> host;
  bool are_steps = false;  ///< Else operators by themselves.
};

/// Texts of the graphs in `text`, each of which begins with a line "graph …".
std::vector<std::string_view> SplitGraphs(std::string_view text) {
  constexpr std::string_view kNext = "\ngraph";
  std::vector<std::string_view> graphs;
  while (!text.empty()) {
    const std::size_t end = text.find(kNext);
    graphs.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return graphs;
}

/// Convolutions of f32 on FP32 lanes, as with torch.backends.cudnn.allow_tf32
/// off. Attention makes f32 out of TF32 products, which that flag leaves alone.
void TurnOffTf32(std::vector<cost::Kernel>& kernels) {
  for (cost::Kernel& kernel : kernels) {
    const bool is_convolution = kernel.groups > 0;
    if (is_convolution && kernel.arithmetic == Precision::kTf32) {
      kernel.arithmetic = Precision::kFp32;
    }
  }
}

CostEstimate Estimate(const OperatorGraph& graph, const DeviceSpec& device,
                      const TimeOperatorsOptions& options) {
  cost::LaunchedStep step = cost::LaunchStep(graph, options.cost);
  if (options.no_tf32) TurnOffTf32(step.kernels);
  return cost::EstimateLaunched(step, device, options.cost);
}

std::string_view LongestWork(const CostEstimate& cost) {
  const auto longest =
      std::ranges::max_element(cost.nodes, {}, &NodeCost::gpu_us);
  return longest == cost.nodes.end() ? "" : WorkKindName(longest->work);
}

/// Microseconds, with --work a pair with what work it mostly is.
nlohmann::json TimeOf(const OperatorGraph& graph, const DeviceSpec& device,
                      const TimeOperatorsOptions& options) {
  const CostEstimate cost = Estimate(graph, device, options);
  const double us =
      (options.are_steps ? cost.latency_ms : cost.gpu_ms) * kUsPerMs;
  if (options.work) return {us, LongestWork(cost)};
  return us;
}

void RunTimeOperators(TimeOperatorsOptions& options) {
  const DeviceSpec device = options.device.Find();
  if (options.host) options.cost.host_factor = options.host->factor;
  const std::string text = ReadText(options.graphs);
  const Run& run = options.cost.run;
  nlohmann::json times = nlohmann::json::array();
  for (const std::string_view graph : SplitGraphs(text)) {
    const std::string origin =
        fmt::format("{}, graph {}", options.graphs, times.size());
    const OperatorGraph lowered =
        runtime::Lower(ParseGraph(graph, origin), run.runtime, run.torch);
    times.push_back(TimeOf(lowered, device, options));
  }
  std::cout << times << "\n";
}

}  // namespace

void AddTimeOperators(CLI::App& app, ExitCode&) {
  auto options = std::make_shared<TimeOperatorsOptions>();
  CLI::App* command = app.add_subcommand(
      "time-operators", "GPU time in microseconds of each of many graphs");
  command->group("");  // Not in the help.
  command
      ->add_option("GRAPHS", options->graphs,
                   "Graphs in text form, one after the other")
      ->required();
  options->device.AddTo(*command);
  AddTorch(*command, options->cost.run.torch);
  AddRuntime(*command, options->cost.run.runtime);
  AddHostFlag(*command, options->cost.run, options->host);
  command->add_flag("--no-tf32", options->no_tf32,
                    "Run f32 convolutions on FP32 lanes");
  command->add_flag("--work", options->work,
                    "Say also what work each mostly is, as `inspect` does");
  command->callback([options, command] {
    options->are_steps = command->count("--host") > 0;
    RunTimeOperators(*options);
  });
}

}  // namespace foretell::cli
