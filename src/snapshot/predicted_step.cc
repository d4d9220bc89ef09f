#include "src/snapshot/predicted_step.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/core/json_object.h"
#include "src/core/units.h"
#include "src/graph/text_elements.h"

namespace foretell::snapshot {
namespace {

/// Sizes in the document have four digits; a type gives all of them, unless the
/// storage is larger than its first tensor.
std::int64_t BytesOf(const std::string& type, double mib,
                     const std::string& origin) {
  constexpr double kDigits = 1e-3;
  constexpr double kMost = 1e15;  // Damaged documents may say anything.
  const double bytes = std::clamp(mib * static_cast<double>(kMiB), 0.0, kMost);
  if (!type.empty()) {
    TextCursor cursor(type, origin);
    const std::int64_t exact = ParseType(cursor).Bytes();
    const double off = std::abs(static_cast<double>(exact) - bytes);
    if (off <= kDigits * bytes) return exact;
  }
  return std::llround(bytes);
}

/// A table of the document: columns of equal length.
class Columns {
 public:
  explicit Columns(JsonObject table) : table_(std::move(table)) {}

  template <typename T>
  std::vector<T> Get(const std::string& name) {
    auto column = table_.Get<std::vector<T>>(name);
    if (length_ == 0) length_ = column.size();
    if (column.size() != length_) {
      table_.Fail(name, "has another length than the other columns");
    }
    return column;
  }

 private:
  JsonObject table_;
  std::size_t length_ = 0;
};

/// Fills in what the moments say, and returns the index of the peak.
std::int64_t ReadMoments(Columns moments, PredictedStep& step) {
  const auto allocated = moments.Get<double>("allocated_mib");
  const auto reserved = moments.Get<double>("reserved_mib");
  const auto phases = moments.Get<std::string>("phase");
  const auto names = moments.Get<std::string>("name");
  if (allocated.empty()) return 0;
  for (std::size_t i = 0; i < allocated.size(); ++i) {
    const auto phase = ParsePhase(phases[i]);
    if (!phase) continue;
    double& most = step.peak_by_phase[static_cast<std::size_t>(*phase)];
    most = std::max(most, allocated[i]);
  }
  const auto peak = std::ranges::max_element(allocated) - allocated.begin();
  const auto index = static_cast<std::size_t>(peak);
  step.peak_operator = names[index];
  step.peak_phase = phases[index];
  step.reserved_at_peak_mib = reserved[index];
  return peak;
}

void ReadTensors(Columns tensors, std::int64_t peak, const std::string& origin,
                 PredictedStep& step) {
  const auto first = tensors.Get<std::int64_t>("first");
  const auto last = tensors.Get<std::int64_t>("last");
  const auto mib = tensors.Get<double>("mib");
  const auto types = tensors.Get<std::string>("type");
  const auto roles = tensors.Get<std::string>("role");
  const auto labels = tensors.Get<std::string>("label");
  const auto modules = tensors.Get<std::string>("module");
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto role = ParseTensorRole(roles[i]);
    if (first[i] > peak || last[i] < peak || !role) continue;
    step.tensors.push_back({.bytes = BytesOf(types[i], mib[i], origin),
                            .role = *role,
                            .label = labels[i],
                            .module = modules[i],
                            .type = types[i]});
  }
}

}  // namespace

PredictedStep ReadPredictedStep(const nlohmann::ordered_json& document,
                                const std::string& origin) {
  constexpr char kField[] = "memory_over_step";
  const nlohmann::json field =
      document.contains(kField) ? document[kField] : nlohmann::ordered_json();
  JsonObject memory(field, origin, kField, UnknownFields::kIgnored);
  PredictedStep step;
  const bool has_operators = memory.IsGiven("moments");
  if (!has_operators) return step;
  const std::int64_t peak =
      ReadMoments(Columns(memory.Object("moments")), step);
  if (memory.IsGiven("tensors")) {
    ReadTensors(Columns(memory.Object("tensors")), peak, origin, step);
  }
  return step;
}

}  // namespace foretell::snapshot
