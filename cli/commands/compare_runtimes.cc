#include "cli/commands/compare_runtimes.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "foretell/error.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"
#include "src/judge/report_json.h"

namespace foretell::cli {
namespace {

using RuntimeJson = nlohmann::ordered_json;

/// Rows of `device` go from `first` on.
void AddSpeedUps(std::size_t first, std::vector<RuntimeChoice>& rows) {
  const auto eager =
      std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(first),
                   rows.end(), [](const RuntimeChoice& one) {
                     return one.runtime == RuntimeName(Runtime::kEager);
                   });
  if (eager == rows.end()) return;
  const double eager_ms = eager->choice.latency_ms;
  for (std::size_t i = first; i < rows.size(); ++i) {
    const double ms = rows[i].choice.latency_ms;
    if (ms > 0) rows[i].speed_up = eager_ms / ms;
  }
}

/// The step in each runtime that can run it.
std::vector<std::pair<StepSetup, Trace>> TraceAll(
    const StepSimulator& simulator, const std::vector<RuntimeSpec>& runtimes,
    std::vector<std::string>& untried) {
  std::vector<std::pair<StepSetup, Trace>> steps;
  for (const RuntimeSpec& runtime : runtimes) {
    StepSetup setup = simulator.Setup();
    setup.run.runtime = runtime;
    try {
      Trace trace = simulator.TraceStep(setup);
      steps.emplace_back(std::move(setup), std::move(trace));
    } catch (const Error& error) {
      untried.push_back(fmt::format("{}: {}", ToString(runtime), error.what()));
    }
  }
  return steps;
}

}  // namespace

bool ComparedRuntimes::AnyFits() const {
  return std::ranges::any_of(
      rows, [](const RuntimeChoice& one) { return one.choice.fits; });
}

ComparedRuntimes CompareRuntimes(const StepSimulator& simulator,
                                 const std::vector<RuntimeSpec>& runtimes,
                                 const std::vector<DeviceSpec>& devices) {
  ComparedRuntimes compared = {.model = simulator.program().name()};
  const auto steps = TraceAll(simulator, runtimes, compared.untried);
  if (!steps.empty()) {
    compared.batch = steps.front().second.graph.info().batch;
  }
  for (const DeviceSpec& device : devices) {
    const std::size_t first = compared.rows.size();
    for (const auto& [setup, trace] : steps) {
      const std::string runtime = ToString(setup.run.runtime);
      try {
        compared.rows.push_back(
            {.runtime = runtime,
             .choice = ChoiceOf(simulator.Predict(setup, trace, device), device,
                                {})});
      } catch (const Error& error) {
        compared.untried.push_back(
            fmt::format("{} on {}: {}", runtime, device.name, error.what()));
      }
    }
    AddSpeedUps(first, compared.rows);
  }
  return compared;
}

std::string FormatRuntimes(const ComparedRuntimes& compared) {
  TextTable table({"device", "runtime", "MiB at most", "fits", "ms", "J",
                   "times eager's speed"});
  for (const RuntimeChoice& row : compared.rows) {
    table.AddRow({row.choice.device, row.runtime,
                  FormatNumber(row.choice.needed_mib, 0),
                  row.choice.fits ? "yes" : "no",
                  FormatSignificant(row.choice.latency_ms),
                  FormatSignificant(row.choice.energy_j),
                  row.speed_up ? FormatNumber(*row.speed_up, 2) : ""});
  }
  std::string text = fmt::format("{}, batch {}\n{}", Printable(compared.model),
                                 compared.batch, table.ToString());
  for (const std::string& one : compared.untried) {
    text += fmt::format("not possible: {}\n", Printable(one));
  }
  return text;
}

nlohmann::ordered_json RuntimesToJson(const ComparedRuntimes& compared) {
  RuntimeJson rows = RuntimeJson::array();
  for (const RuntimeChoice& row : compared.rows) {
    rows.push_back(
        {{"device", row.choice.device},
         {"runtime", row.runtime},
         {"needed_mib", RoundedForJson(row.choice.needed_mib)},
         {"usable_mib", RoundedForJson(row.choice.usable_mib)},
         {"fits", row.choice.fits},
         {"latency_ms", RoundedForJson(row.choice.latency_ms)},
         {"energy_j", RoundedForJson(row.choice.energy_j)},
         {"speed_up", row.speed_up ? RuntimeJson(RoundedForJson(*row.speed_up))
                                   : RuntimeJson()}});
  }
  return {{"model", compared.model},
          {"batch", compared.batch},
          {"runtimes", std::move(rows)},
          {"untried", compared.untried}};
}

}  // namespace foretell::cli
