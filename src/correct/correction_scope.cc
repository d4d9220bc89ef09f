#include "src/correct/correction_scope.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/parse_number.h"
#include "src/correct/model_field.h"
#include "src/correct/scope_step.h"

namespace foretell {
namespace {

using Place = ScopeFactor::Place;

/// The model with {NAME} for all of its fields: those that it does not place
/// are added, as a sweep adds them.
std::string PatternOf(const CorrectionScope& scope) {
  std::string pattern = scope.model;
  for (const ScopeFactor& factor : scope.factors) {
    if (factor.place != Place::kField) continue;
    pattern =
        WithField(std::move(pattern), factor.name, FieldPlace(factor.name));
  }
  return pattern;
}

/// A file may lie elsewhere; names of the zoo have no slash.
std::string_view WithoutFolder(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

/// What `name` has at the places of `pattern`; empty: they differ.
std::optional<FactorValues> FieldsOf(std::string_view pattern,
                                     std::string_view name) {
  FactorValues fields;
  while (!pattern.empty()) {
    if (pattern.front() != '{') {
      if (name.empty() || name.front() != pattern.front()) return {};
      pattern.remove_prefix(1);
      name.remove_prefix(1);
      continue;
    }
    const std::size_t end = pattern.find('}');
    const std::size_t digits =
        std::min(name.find_first_not_of("0123456789"), name.size());
    const auto number = ParseNumber<std::int64_t>(name.substr(0, digits));
    if (end == std::string_view::npos || !number) return {};
    const auto value = static_cast<double>(*number);
    const std::string field(pattern.substr(1, end - 1));
    if (fields.try_emplace(field, value).first->second != value) return {};
    pattern.remove_prefix(end + 1);
    name.remove_prefix(digits);
  }
  if (!name.empty()) return {};
  return fields;
}

double LengthOf(const std::string& origin, const ScopeFactor& factor,
                const OperatorGraph& graph) {
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    if (input.name != factor.input) continue;
    if (factor.dim >= std::ssize(input.type.shape)) continue;
    return static_cast<double>(
        input.type.shape[static_cast<std::size_t>(factor.dim)]);
  }
  throw InvalidArgument(
      "{}: {} is dimension {} of the input '{}', which {} does not have",
      origin, factor.name, factor.dim, factor.input, graph.info().name);
}

double SumOf(const std::vector<GapTerm>& gap, const std::vector<double>& at) {
  double sum = 0;
  for (const GapTerm& term : gap) {
    double product = term.coefficient;
    for (std::size_t i = 0; i < at.size(); ++i) {
      product *= std::pow(at[i], term.powers[i]);
    }
    sum += product;
  }
  return sum;
}

[[noreturn]] void Refuse(const std::string& origin, std::string_view what,
                         std::string_view mine, std::string_view asked) {
  throw InvalidArgument("{}: was measured with {} {}; asked for is {}", origin,
                        what, mine, asked);
}

void RequireSame(const std::string& origin, std::string_view what,
                 std::string_view mine, std::string_view asked) {
  if (mine != asked) Refuse(origin, what, mine, asked);
}

void RequireSameRun(const std::string& origin, const Run& mine,
                    const Run& run) {
  const auto fields = nlohmann::json::parse(RunToJson(mine));
  const auto asked = nlohmann::json::parse(RunToJson(run));
  for (const auto& [field, value] : fields.items()) {
    if (field == "optimizer" && run.mode != Mode::kTraining) continue;
    RequireSame(origin, field, value.dump(), asked.at(field).dump());
  }
}

bool CorrectsTimes(const Correction& correction) {
  return correction[Target::kLatency] || correction[Target::kEnergy];
}

std::string NameOf(const HostSpec& host) {
  return host.IsNamed() ? host.name : "without a name";
}

/// The factors' values at `graph`, in their order.
std::vector<double> FactorsAt(const Correction& correction,
                              const OperatorGraph& graph) {
  const std::string pattern = PatternOf(correction.scope);
  const auto fields =
      FieldsOf(WithoutFolder(pattern), WithoutFolder(graph.info().name));
  if (!fields) {
    Refuse(correction.origin, "the model", pattern, graph.info().name);
  }
  std::vector<double> values;
  for (const ScopeFactor& factor : correction.scope.factors) {
    double value = static_cast<double>(graph.info().batch);
    if (factor.place == Place::kField) value = fields->at(factor.name);
    if (factor.place == Place::kLength) {
      value = LengthOf(correction.origin, factor, graph);
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace

const HostSpec& HostOf(const Correction& correction, const HostSpec& asked) {
  return CorrectsTimes(correction) ? correction.terms.host : asked;
}

void RequireInScope(const Correction& correction, const DeviceSpec& device,
                    const ContextModel& context, const Run& run,
                    const HostSpec& host,
                    const CachingAllocatorConfig& allocator) {
  const std::string& origin = correction.origin;
  const CorrectionScope& scope = correction.scope;
  if (scope.measured_on == "cpu") {
    throw InvalidArgument(
        "{}: was measured on the CPU; predictions are of GPUs, here {}", origin,
        device.name);
  }
  RequireSame(origin, "device", scope.device, device.name);
  if (correction[Target::kMemory]) {
    RequireSame(origin, "environment", scope.context, context.name);
  }
  if (scope.IsOfOneModel() && allocator.expandable_segments) {
    Refuse(origin, "allocator", "PyTorch's default", "--expandable-segments");
  }
  Run mine = scope.run;
  if (!CorrectsTimes(correction)) {
    mine.host = run.host;
  } else if (host.IsNamed()) {
    RequireSame(origin, "host", NameOf(correction.terms.host), host.name);
  }
  RequireSameRun(origin, mine, run);
}

GapAt GapOf(const Correction& correction, const OperatorGraph& graph) {
  const CorrectionScope& scope = correction.scope;
  GapAt gap{.mib = correction.terms.memory_mib};
  if (!scope.IsOfOneModel()) return gap;
  std::vector<double> at = FactorsAt(correction, graph);
  FactorValues values;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const ScopeFactor& factor = scope.factors[i];
    const double value = values[factor.name] = at[i];
    at[i] = std::clamp(value, factor.lowest, factor.highest);
    if (at[i] == value) continue;
    gap.outside.push_back(
        fmt::format("{} {}, of {} to {}", factor.name, FormatExact(value),
                    FormatExact(factor.lowest), FormatExact(factor.highest)));
  }
  if (scope.step) {
    std::ranges::move(DifferencesFrom(*scope.step, graph, values),
                      std::back_inserter(gap.outside));
  }
  gap.mib += SumOf(correction.terms.gap, at);
  return gap;
}

}  // namespace foretell
