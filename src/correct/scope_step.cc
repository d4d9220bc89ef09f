#include "src/correct/scope_step.h"

#include <fmt/core.h>

#include <algorithm>

#include "src/core/numbers.h"

namespace foretell {
namespace {

/// What dimension `dim` of input `input` was in `runs`: all have it.
ScopeSize SizeIn(std::span<const ShownStep> runs,
                 std::span<const std::string> names, std::size_t input,
                 std::size_t dim) {
  const auto size_in = [=](const ShownStep& run) {
    return run.inputs[input].second[dim];
  };
  const std::int64_t first = size_in(runs.front());
  if (std::ranges::all_of(
          runs, [&](const ShownStep& run) { return size_in(run) == first; })) {
    return {.size = first};
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool follows = std::ranges::all_of(runs, [&](const ShownStep& run) {
      return static_cast<double>(size_in(run)) == run.factors[i];
    });
    if (follows) return {.factor = names[i]};
  }
  return {};
}

ScopeRange RangeOf(std::span<const ShownStep> runs,
                   std::int64_t ShownStep::*count) {
  const auto [lowest, highest] = std::ranges::minmax(runs, {}, count);
  return {lowest.*count, highest.*count};
}

/// "operators 312, of 104"; empty inside of the range.
std::string Beyond(std::string_view what, std::int64_t value,
                   const ScopeRange& range) {
  if (range.lowest <= value && value <= range.highest) return "";
  return range.lowest == range.highest
             ? fmt::format("{} {}, of {}", what, value, range.lowest)
             : fmt::format("{} {}, of {} to {}", what, value, range.lowest,
                           range.highest);
}

/// What the runs had there: "224", "128 (resolution)"; empty: not compared.
std::string ExpectedOf(const ScopeSize& size, const FactorValues& factors,
                       std::int64_t there) {
  if (size.size)
    return *size.size == there ? "" : fmt::format("{}", *size.size);
  const auto factor = factors.find(size.factor);
  if (factor == factors.end()) return "";
  if (factor->second == static_cast<double>(there)) return "";
  return fmt::format("{} ({})", FormatExact(factor->second), size.factor);
}

void CompareInput(const ScopeInput& input,
                  const std::vector<std::int64_t>& shape,
                  const FactorValues& factors,
                  std::vector<std::string>& differences) {
  if (shape.size() != input.shape.size()) {
    differences.push_back(fmt::format("dimensions of input '{}' {}, of {}",
                                      input.name, shape.size(),
                                      input.shape.size()));
    return;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::string expected = ExpectedOf(input.shape[i], factors, shape[i]);
    if (expected.empty()) continue;
    differences.push_back(fmt::format("dimension {} of input '{}' {}, of {}", i,
                                      input.name, shape[i], expected));
  }
}

}  // namespace

ShownStep ShownBy(const OperatorGraph& graph, std::vector<double> factors) {
  ShownStep shown{.factors = std::move(factors),
                  .inputs = {},
                  .operators = std::ssize(graph.nodes()),
                  .parameters = graph.ParameterElements()};
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    shown.inputs.emplace_back(input.name, input.type.shape);
  }
  return shown;
}

ScopeStep CommonStep(std::span<const ShownStep> runs,
                     std::span<const std::string> names) {
  ScopeStep step{.inputs = {},
                 .operators = RangeOf(runs, &ShownStep::operators),
                 .parameters = RangeOf(runs, &ShownStep::parameters)};
  for (std::size_t i = 0; i < runs.front().inputs.size(); ++i) {
    const auto& [name, shape] = runs.front().inputs[i];
    ScopeInput input{.name = name, .shape = {}};
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      input.shape.push_back(SizeIn(runs, names, i, dim));
    }
    step.inputs.push_back(std::move(input));
  }
  return step;
}

std::vector<std::string> DifferencesFrom(const ScopeStep& step,
                                         const OperatorGraph& graph,
                                         const FactorValues& factors) {
  std::vector<std::string> differences;
  const ShownStep shown = ShownBy(graph, {});
  for (const ScopeInput& input : step.inputs) {
    const auto there = std::ranges::find(
        shown.inputs, input.name,
        &std::pair<std::string, std::vector<std::int64_t>>::first);
    if (there != shown.inputs.end()) {
      CompareInput(input, there->second, factors, differences);
    } else {
      differences.push_back(fmt::format("no input '{}'", input.name));
    }
  }
  for (std::string beyond :
       {Beyond("operators", shown.operators, step.operators),
        Beyond("parameters", shown.parameters, step.parameters)}) {
    if (!beyond.empty()) differences.push_back(std::move(beyond));
  }
  return differences;
}

}  // namespace foretell
