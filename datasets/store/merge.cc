#include "datasets/store/merge.h"

#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <optional>

#include "datasets/store/rows.h"
#include "datasets/store/schema.h"
#include "datasets/store/store.h"
#include "foretell/error.h"
#include "src/core/failure.h"

namespace foretell::dataset {
namespace {

/// Copies one input into the output.
class Merger {
 public:
  Merger(Dataset& from, Dataset& into, bool salvage, MergeSummary& summary)
      : from_(dataset::StoreOf(from)),
        into_(dataset::StoreOf(into)),
        labels_into_(into),
        salvage_(salvage),
        summary_(summary) {}

  void Run() {
    Each(kPoints, [this](const Row& row) {
      TakePoint(PointOf(from_.connection(), row));
    });
    if (HasTable(from_.connection(), kRunGraphs)) {
      Each(kRunGraphs,
           [this](const Row& row) { TakeRunGraph(RunGraphOf(row)); });
    }
    std::map<RowId, std::string> environments;
    Each(kEnvironments, [&environments](const Row& row) {
      environments[Integer(row.front())] =
          Text(CellOf(kEnvironments, row, "json"));
    });
    Each(kLabels, [&](const Row& row) {
      const auto environment =
          environments.find(Integer(CellOf(kLabels, row, "environment")));
      if (environment == environments.end()) {
        Damaged({"labels", Integer(row.front()), "its environment is missing"});
      } else {
        TakeLabel(LabelOf(from_.connection(), row, environment->second));
      }
    });
  }

 private:
  void Each(const Table& table, const std::function<void(const Row&)>& use) {
    ForEachGoodRow(
        from_.connection(), table,
        [&](const Row& row) {
          try {
            use(row);
          } catch (const Error& error) {
            if (error.code() != ErrorCode::kCorrupt) throw;
            Damaged(DamageOf(from_.connection().path(), table.name,
                             Integer(row.front()), error));
          }
        },
        [this](const Damage& damage) { Damaged(damage); });
  }

  void Damaged(const Damage& damage) {
    const std::string text =
        fmt::format("{}: {}", from_.connection().path(), ToString(damage));
    if (!salvage_) throw Error(ErrorCode::kCorrupt, text);
    summary_.damage.push_back(text);
  }

  void TakePoint(const StoredPoint& point) {
    std::optional<StoredPoint> there = into_.Find(point.point);
    if (!there) ++summary_.points;
    if (point.graph != 0 && (!there || there->graph == 0)) {
      into_.AddPacked(point.point, from_.Packed(point.graph), point.warnings);
      ++summary_.graphs;
      there = into_.Find(point.point);
    } else if (!there || (there->status == PointStatus::kUntraced &&
                          point.status == PointStatus::kFailed)) {
      StoredPoint copy = point;
      copy.id = there ? there->id : 0;
      copy.graph = 0;
      copy.id = into_.PutPoint(copy);
      there = copy;
    }
    rows_[point.id] = there->id;
  }

  void TakeRunGraph(RunGraph traced) {
    const auto row = rows_.find(traced.point);
    if (row == rows_.end()) {
      Damaged({"points", traced.point, "it is missing, and has a run's graph"});
      return;
    }
    const std::optional<RunGraph> there =
        into_.FindRunGraph(row->second, traced.run);
    if (traced.graph != 0) {
      if (there && there->graph != 0) return;
      into_.AddPackedRun(row->second, traced.run, from_.Packed(traced.graph),
                         traced.warnings);
      ++summary_.graphs;
    } else if (!there) {
      traced.id = 0;
      traced.point = row->second;
      into_.PutRunGraph(traced);
    }
  }

  void TakeLabel(Label label) {
    const auto row = rows_.find(label.point);
    if (row == rows_.end()) {
      Damaged({"points", label.point, "it is missing, and has a label"});
      return;
    }
    label.point = row->second;
    const bool is_result = label.status != LabelStatus::kFailed;
    for (const Label& there : labels_into_.LabelsOf(label.point)) {
      if (there.device != label.device || there.source != label.source)
        continue;
      const bool has_result = there.status != LabelStatus::kFailed;
      if (has_result && !is_result) return;
      if (there.setting != label.setting) continue;
      if (there == label) return;
      if (has_result == is_result) {
        ++summary_.conflicts;
        return;
      }
    }
    if (is_result) {
      labels_into_.RemoveFailures(label.point, label.device, label.source);
    }
    labels_into_.PutLabel(label);
    ++summary_.labels;
  }

  dataset::Store& from_;
  dataset::Store& into_;
  Dataset& labels_into_;
  bool salvage_;
  MergeSummary& summary_;
  std::map<RowId, RowId> rows_;  ///< Rows of points: there → here.
};

/// Features of another version must not get in. If the version was lost to
/// damage, `salvage` assumes that it was this one.
void CheckVersion(Dataset& from, bool salvage) {
  try {
    if (salvage && !dataset::StoreOf(from).FeatureVersion()) return;
  } catch (const Error& error) {
    if (salvage && error.code() == ErrorCode::kCorrupt) return;
    throw;
  }
  dataset::StoreOf(from).CheckFeatureVersion();
}

bool SameFile(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

}  // namespace

MergeSummary MergeDatasets(std::span<const std::string> inputs,
                           const std::string& out,
                           const MergeOptions& options) {
  for (const std::string& input : inputs) {
    if (!SameFile(input, out)) continue;
    throw InvalidArgument("{}: is the output; it cannot be merged into itself",
                          input);
  }
  MergeSummary summary;
  Dataset into = Dataset::OpenOrCreate(out);
  dataset::StoreOf(into).CheckFeatureVersion();
  for (const std::string& input : inputs) {
    Dataset from =
        options.salvage ? Dataset::OpenDamaged(input) : Dataset::Open(input);
    CheckVersion(from, options.salvage);
    Dataset::Batch batch(into);
    Merger(from, into, options.salvage, summary).Run();
    batch.Commit();
  }
  return summary;
}

}  // namespace foretell::dataset
