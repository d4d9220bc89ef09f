#include "src/snapshot/snapshot_difference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "src/core/failure.h"
#include "src/core/units.h"
#include "src/judge/report_json.h"
#include "src/pictures/picture_json.h"
#include "src/pictures/step_difference.h"
#include "src/snapshot/difference_rows.h"
#include "src/snapshot/match_blocks.h"

namespace foretell::snapshot {
namespace {

using Json = nlohmann::ordered_json;
using pictures::Brief;
using pictures::Clipped;

/// Parts of the allocated peak, with the fields of "result" that predict them.
enum class Part : std::uint8_t {
  kParameters,
  kBuffers,
  kInputs,
  kActivations,
  kGradients,
  kOptimizer,
  kTemporaries,
  kWorkspaces,
  kRounding,
  kUnexplained,  ///< Of the snapshot alone.
};
constexpr std::size_t kNumParts = 10;

struct PartRow {
  const char* name;
  const char* field;  ///< JSON pointer within "result"; null if there is none.
};
constexpr std::array<PartRow, kNumParts> kParts = {{
    {"parameters", "/memory/parameters_mib"},
    {"buffers", "/memory/buffers_mib"},
    {"inputs", "/memory/inputs_mib"},
    {"activations", "/memory/activations_mib"},
    {"gradients", "/memory/gradients_mib"},
    {"optimizer", "/memory/optimizer_mib"},
    {"temporaries", "/memory/temporaries_mib"},
    {"workspaces", "/memory/workspace_at_peak_mib"},
    {"rounding", "/memory/rounding_mib"},
    {"unexplained", nullptr},
}};

Part PartOf(TensorRole role) {
  switch (role) {
    case TensorRole::kInput:
      return Part::kInputs;
    case TensorRole::kParameter:
      return Part::kParameters;
    case TensorRole::kBuffer:
      return Part::kBuffers;
    case TensorRole::kActivation:
    case TensorRole::kSaved:
      return Part::kActivations;
    case TensorRole::kGradient:
      return Part::kGradients;
    case TensorRole::kOptimizerState:
      return Part::kOptimizer;
    default:
      return Part::kTemporaries;
  }
}

/// Workspaces of a cuBLAS handle, where no frames of C++ tell (docs/memory.md).
constexpr std::array<std::int64_t, 2> kCublasBytes = {8519680, 33554432};

/// The row of "modules" of all workspaces.
constexpr char kWorkspaceRow[] = "(workspaces)";

Json RowToJson(const std::string& name, Json recorded, Json predicted) {
  return {{"name", name},
          {"unit", "MiB"},
          {"snapshot", std::move(recorded)},
          {"predicted", std::move(predicted)}};
}

class Comparison {
 public:
  Comparison(const MemorySnapshot& snapshot, const Json& step,
             const std::string& origin)
      : origin_(origin),
        words_(snapshot),
        memory_(FollowTrace(snapshot, words_)),
        result_(step["result"]),
        step_(ReadPredictedStep(step, origin)),
        matches_(MatchBlocks(memory_.live, step_.tensors, words_)) {}

  Json Recorded(const std::string& path) const {
    const bool is_in_trace = memory_.peak_entry != kBeforeTrace;
    Json json = {{"file", Clipped(path)},
                 {"gpu", memory_.device},
                 {"entries", memory_.entries},
                 {"peak_entry", nullptr},
                 {"split_blocks", memory_.split_blocks},
                 {"split_mib", Brief(ToMiB(memory_.split_bytes))},
                 {"free_segments_mib", Brief(ToMiB(memory_.free_segments))},
                 {"shortage", nullptr}};
    if (is_in_trace) {
      const StackId stack = memory_.live.back().stack;
      json["peak_entry"] = memory_.peak_entry;
      json["peak_origin"] = OriginName(words_.OriginOf(stack));
      json["peak_place"] = Clipped(words_.PlaceOf(stack));
    }
    if (memory_.shortage) {
      json["shortage"] = {
          {"entry", memory_.shortage->entry},
          {"requested_mib", Brief(ToMiB(memory_.shortage->requested))},
          {"free_mib", Brief(ToMiB(memory_.shortage->device_free))}};
    }
    return json;
  }

  Json Figures() const {
    Json rows = Json::array();
    const auto add = [&](const std::string& name, double recorded,
                         double predicted) {
      if (recorded == 0 && predicted == 0) return;
      rows.push_back(RowToJson(name, Brief(recorded), Brief(predicted)));
    };
    add("allocated", ToMiB(memory_.peak_allocated),
        Predicted("/memory/allocated_mib"));
    const std::array<std::int64_t, kNumParts> parts = Parts();
    for (std::size_t i = 0; i < kNumParts; ++i) {
      add(std::string("  ") + kParts[i].name, ToMiB(parts[i]),
          kParts[i].field == nullptr ? 0 : Predicted(kParts[i].field));
    }
    add("reserved", ToMiB(memory_.peak_reserved),
        Predicted("/memory/reserved_mib"));
    const std::int64_t cached =
        memory_.reserved_at_peak - memory_.peak_allocated;
    add("  cached at the peak", ToMiB(std::max<std::int64_t>(cached, 0)),
        std::max(0.0, step_.reserved_at_peak_mib -
                          Predicted("/memory/allocated_mib")));
    AddPhases(add);
    return rows;
  }

  Json Modules() const {
    std::map<std::string, ModuleRow> rows;
    const std::map<std::string, std::string> modules = ModulesOfPlaces();
    for (std::size_t i = 0; i < memory_.live.size(); ++i) {
      const RecordedBlock& block = memory_.live[i];
      const std::string place = PlaceOf(block);
      ModuleRow& row = rows[RowOf(i, place, modules)];
      row.recorded += block.bytes;
      row.places[place] += block.bytes;
    }
    for (const PredictedTensor& tensor : step_.tensors) {
      rows[ModuleRowOf(tensor)].predicted += tensor.bytes;
    }
    rows[kWorkspaceRow].predicted += std::llround(
        Predicted("/memory/workspace_at_peak_mib") * static_cast<double>(kMiB));
    return ModulesToJson(rows);
  }

  Json Unmatched() const {
    RepeatedRows recorded;
    RepeatedRows predicted;
    std::vector<bool> is_matched(step_.tensors.size());
    for (std::size_t i = 0; i < memory_.live.size(); ++i) {
      const RecordedBlock& block = memory_.live[i];
      if (matches_[i]) {
        is_matched[*matches_[i]] = true;
      } else if (!IsWorkspace(block)) {
        recorded.Add(block.bytes,
                     {{"origin", OriginName(words_.OriginOf(block.stack))},
                      {"place", Clipped(PlaceOf(block))}});
      }
    }
    for (std::size_t i = 0; i < step_.tensors.size(); ++i) {
      const PredictedTensor& tensor = step_.tensors[i];
      if (is_matched[i]) continue;
      predicted.Add(tensor.bytes, {{"role", TensorRoleName(tensor.role)},
                                   {"module", ModuleRowOf(tensor)},
                                   {"type", tensor.type}});
    }
    return {{"snapshot", recorded.ToJson()}, {"predicted", predicted.ToJson()}};
  }

 private:
  double Predicted(const char* field) const {
    const Json::json_pointer pointer(field);
    if (!result_.contains(pointer) || !result_[pointer].is_number()) {
      throw Corrupt("{}: result{} is missing, expected a number", origin_,
                    field);
    }
    return result_[pointer].get<double>();
  }
  const PredictedTensor& TensorOf(std::size_t block) const {
    return step_.tensors[*matches_[block]];
  }
  std::string PlaceOf(const RecordedBlock& block) const {
    std::string place = words_.PlaceOf(block.stack);
    if (!place.empty()) return place;
    return block.born == kBeforeTrace ? "(before the trace)" : "(no frames)";
  }
  bool IsWorkspace(const RecordedBlock& block) const {
    return words_.IsWorkspace(block.stack) ||
           std::ranges::count(kCublasBytes, block.bytes) > 0;
  }

  Part PartOfUnmatched(const RecordedBlock& block) const {
    if (IsWorkspace(block)) return Part::kWorkspaces;
    switch (words_.OriginOf(block.stack)) {
      case Origin::kForward:
        return Part::kActivations;
      case Origin::kBackward:
        return Part::kTemporaries;
      case Origin::kOptimizer:
        return block.died == memory_.entries ? Part::kOptimizer
                                             : Part::kTemporaries;
      default:
        return Part::kUnexplained;
    }
  }

  std::array<std::int64_t, kNumParts> Parts() const {
    std::array<std::int64_t, kNumParts> parts = {};
    const auto add = [&](Part part, std::int64_t bytes) {
      parts[static_cast<std::size_t>(part)] += bytes;
    };
    for (std::size_t i = 0; i < memory_.live.size(); ++i) {
      const RecordedBlock& block = memory_.live[i];
      if (matches_[i]) {
        add(PartOf(TensorOf(i).role), TensorOf(i).bytes);
        add(Part::kRounding, block.bytes - TensorOf(i).bytes);
      } else {
        add(PartOfUnmatched(block), block.bytes);
      }
    }
    return parts;
  }

  template <typename Add>
  void AddPhases(const Add& add) const {
    const auto most = [&](Origin origin) {
      return ToMiB(memory_.peak_by_origin[static_cast<std::size_t>(origin)]);
    };
    constexpr std::array kOrigins = {Origin::kForward, Origin::kBackward,
                                     Origin::kOptimizer};
    const bool has_origins = std::ranges::any_of(
        kOrigins, [&](Origin origin) { return most(origin) > 0; });
    for (std::size_t i = 0; has_origins && i < kOrigins.size(); ++i) {
      add("most in " + std::string(OriginName(kOrigins[i])), most(kOrigins[i]),
          step_.peak_by_phase[i]);
    }
  }

  /// The row of "modules" of block `i`: that of its counterpart, of other
  /// blocks of its place, or its place alone.
  std::string RowOf(std::size_t i, const std::string& place,
                    const std::map<std::string, std::string>& modules) const {
    if (matches_[i]) return ModuleRowOf(TensorOf(i));
    if (IsWorkspace(memory_.live[i])) return kWorkspaceRow;
    const auto known = modules.find(place);
    return known == modules.end() ? place : known->second;
  }

  /// The module to which most bytes of a place have their counterpart.
  std::map<std::string, std::string> ModulesOfPlaces() const {
    std::map<std::string, std::map<std::string, std::int64_t>> bytes;
    for (std::size_t i = 0; i < memory_.live.size(); ++i) {
      const RecordedBlock& block = memory_.live[i];
      if (!matches_[i] || block.stack == kNoStack) continue;
      bytes[PlaceOf(block)][ModuleRowOf(TensorOf(i))] += block.bytes;
    }
    std::map<std::string, std::string> modules;
    for (const auto& [place, by_module] : bytes) {
      modules[place] = MostOf(by_module);
    }
    return modules;
  }
  const std::string& origin_;
  StackWords words_;
  RecordedMemory memory_;
  const Json& result_;
  PredictedStep step_;
  std::vector<std::optional<std::size_t>> matches_;
};

}  // namespace

nlohmann::ordered_json SnapshotDifference(const MemorySnapshot& snapshot,
                                          const std::string& path,
                                          const nlohmann::ordered_json& step,
                                          const std::string& origin) {
  pictures::CheckStep(step, origin);
  const Comparison comparison(snapshot, step, origin);
  return {{"schema_version", kReportSchemaVersion},
          {"snapshot", comparison.Recorded(path)},
          {"prediction", step["result"]},
          {"figures", comparison.Figures()},
          {"modules", comparison.Modules()},
          {"unmatched", comparison.Unmatched()}};
}

}  // namespace foretell::snapshot
