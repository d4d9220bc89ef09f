#include "src/features/term_probe.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "foretell/graph_io.h"
#include "src/core/parse_number.h"
#include "src/features/probe_graphs.h"

namespace foretell::learned {
namespace {

/// Smaller amounts, ms or MiB, may change as they like.
constexpr double kLeastAmount = 1e-3;

constexpr char kAnyDevice[] = "a100-sxm4-40gb";

double Rounded(double value) {
  return ParseNumber<double>(fmt::format("{:.5g}", value)).value();
}

std::vector<const DeviceSpec*> KnownDevices(
    const std::vector<std::string>& names) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  std::vector<const DeviceSpec*> known;
  for (const std::string& name : names) {
    if (const DeviceSpec* device = catalog.DeviceNamed(name)) {
      known.push_back(device);
    }
  }
  if (known.empty()) known.push_back(&catalog.FindDevice(kAnyDevice));
  return known;
}

const ContextModel& ContextOf(const InputRecipe& recipe) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const std::vector<ContextModel>& contexts = catalog.contexts();
  const auto found =
      std::ranges::find(contexts, recipe.context, &ContextModel::name);
  return found == contexts.end() ? catalog.DefaultContext() : *found;
}

void AddTerms(const TermTable& table, TermProbe& probe) {
  for (const float amount : table.amounts) {
    probe.amounts.push_back(Rounded(amount));
  }
  const std::size_t terms = table.num_terms();
  const std::size_t width = table.features.size() / terms;
  for (std::size_t column = 0; column < width; ++column) {
    double sum = 0;
    for (std::size_t row = 0; row < terms; ++row) {
      sum += table.features[row * width + column];
    }
    probe.features.push_back(Rounded(sum / static_cast<double>(terms)));
  }
  for (const float total : table.totals) {
    probe.features.push_back(Rounded(total));
  }
}

/// The largest of `change` over pairs; infinite where there are not as many.
template <typename Change>
double Largest(const std::vector<double>& then, const std::vector<double>& now,
               Change change) {
  if (then.size() != now.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < then.size(); ++i) {
    largest = std::max(largest, std::abs(change(then[i], now[i])));
  }
  return largest;
}

}  // namespace

bool TermDrift::IsLarge() const {
  return amounts > kLargeTermDrift || features > kLargeTermDrift;
}

TermProbe ProbeTerms(const InputRecipe& recipe,
                     const std::vector<std::string>& devices) {
  TermProbe probe;
  const ContextModel& context = ContextOf(recipe);
  const std::vector<const DeviceSpec*> known = KnownDevices(devices);
  for (const std::string_view text : kProbeGraphs) {
    const OperatorGraph graph = ParseGraph(text, "probe");
    const Run run = RunAsLearned(RunOf(graph.info(), {}), recipe);
    for (const DeviceSpec* device : known) {
      AddTerms(MakeTerms(*recipe.terms, graph, {*device, run, context}), probe);
    }
  }
  return probe;
}

TermDrift DriftOf(const TermProbe& then, const TermProbe& now) {
  const auto log_ratio = [](double before, double after) {
    return std::log((after + kLeastAmount) / (before + kLeastAmount));
  };
  const auto difference = [](double before, double after) {
    return after - before;
  };
  return {.amounts = Largest(then.amounts, now.amounts, log_ratio),
          .features = Largest(then.features, now.features, difference)};
}

}  // namespace foretell::learned
