#include "datasets/collect/generate.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "datasets/collect/timed_batch.h"
#include "datasets/store/label_graphs.h"
#include "datasets/store/store.h"
#include "src/core/bytes.h"
#include "src/graph/setting.h"
#include "src/sandbox/pool.h"

namespace foretell::dataset {
namespace {

using sandbox::Outcome;

void Write(ByteWriter& out, const PackedBlob& blob) {
  out.Number(blob.raw_bytes);
  out.Number(blob.hash);
  out.Text(blob.data);
}

PackedBlob ReadBlob(ByteReader& in) {
  PackedBlob blob;
  blob.raw_bytes = in.Number<std::int64_t>();
  blob.hash = in.Number<std::int64_t>();
  blob.data = in.Text();
  return blob;
}

/// Only the fields that a trace adds to its point.
std::string Encode(const TracedPoint& traced) {
  ByteWriter out;
  out.Text(traced.point.format);
  out.Text(traced.point.inputs);
  out.Number(traced.point.image_size);
  out.Number(traced.graph.summary);
  Write(out, traced.graph.nodes);
  Write(out, traced.graph.edges);
  Write(out, traced.graph.text);
  out.Text(traced.warnings);
  return out.Take();
}

TracedPoint Decode(const Point& point, std::string_view bytes) {
  ByteReader in(bytes);
  TracedPoint traced{.point = point, .graph = {}, .warnings = {}};
  traced.point.format = in.Text();
  traced.point.inputs = in.Text();
  traced.point.image_size = in.Number<std::optional<std::int64_t>>();
  traced.graph.summary = in.Number<GraphSummary>();
  traced.graph.nodes = ReadBlob(in);
  traced.graph.edges = ReadBlob(in);
  traced.graph.text = ReadBlob(in);
  traced.warnings = in.Text();
  return traced;
}

auto KeyOf(const Point& point) {
  return std::tuple(point.model, point.batch, point.mode, point.precision,
                    point.optimizer);
}

/// Result of tracing so far.
struct History {
  RowId graph = 0;
  std::int64_t attempts = 0;
};

/// A trace to be made.
struct Task {
  Point point;
  std::string run;  ///< RunGraph::run; empty for the point's own graph.
  RowId row = 0;    ///< Of the point; needed with `run` only.
  History history = {};

  std::string Name() const {
    return run.empty() ? ToString(point)
                       : fmt::format("{} {}", ToString(point), run);
  }
};

class Generation {
 public:
  Generation(Dataset& dataset, std::vector<Task> plan,
             const TraceFunction& trace, const GenerateOptions& options)
      : dataset_(dataset),
        plan_(std::move(plan)),
        trace_(trace),
        options_(options),
        batch_(dataset, options.commit_every_s) {}

  GenerateSummary Run() {
    dataset::StoreOf(dataset_).CheckFeatureVersion();
    std::vector<std::int64_t> tasks = Missing();
    progress_.total = std::ssize(tasks);
    while (!tasks.empty()) {
      again_.clear();
      sandbox::RunInWorkers(
          tasks,
          {.workers = options_.workers, .deadline_s = options_.deadline_s},
          [this](std::int64_t number) {
            const Task& task = TaskOf(number);
            return Encode(trace_(task.point, task.run));
          },
          [this](std::int64_t number, const Outcome& outcome) {
            Take(number, outcome);
          });
      tasks = again_;
    }
    batch_.Commit();
    return summary_;
  }

 private:
  const Task& TaskOf(std::int64_t number) const {
    return plan_[static_cast<std::size_t>(number)];
  }

  /// Numbers of the tasks that are to be done.
  std::vector<std::int64_t> Missing() {
    summary_.planned = std::ssize(plan_);
    std::vector<std::int64_t> missing;
    for (std::int64_t number = 0; number < std::ssize(plan_); ++number) {
      const History& history = TaskOf(number).history;
      attempts_.push_back(options_.retry_given_up ? 0 : history.attempts);
      if (history.graph != 0) {
        ++summary_.present;
      } else if (attempts_.back() >= options_.max_attempts) {
        ++summary_.given_up;
      } else {
        missing.push_back(number);
      }
    }
    return missing;
  }

  void Take(std::int64_t number, const Outcome& outcome) {
    const Task& task = TaskOf(number);
    batch_.Begin();
    if (outcome.kind == Outcome::Kind::kDone) {
      Store(task, Decode(task.point, outcome.text));
      ++summary_.traced;
    } else {
      StoreFailure(task, outcome.text);
      if (!TryAgain(number, outcome)) {
        ++summary_.failed;
        summary_.failures.push_back(
            fmt::format("{}: {}", task.Name(), outcome.text));
      }
    }
    batch_.End();
    Report(task);
  }

  void Store(const Task& task, const TracedPoint& traced) {
    dataset::Store& store = dataset::StoreOf(dataset_);
    if (task.run.empty()) {
      store.AddPacked(traced.point, traced.graph, traced.warnings);
    } else {
      store.AddPackedRun(task.row, task.run, traced.graph, traced.warnings);
    }
  }

  void StoreFailure(const Task& task, const std::string& reason) {
    if (task.run.empty()) {
      dataset_.AddFailure(task.point, reason);
    } else {
      dataset_.AddRunFailure(task.row, task.run, reason);
    }
  }

  bool TryAgain(std::int64_t number, const Outcome& outcome) {
    const bool may_pass = outcome.kind != Outcome::Kind::kFailed;
    std::int64_t& attempts = attempts_[static_cast<std::size_t>(number)];
    ++attempts;
    if (!may_pass || attempts >= options_.max_attempts) return false;
    again_.push_back(number);
    return true;
  }

  void Report(const Task& task) {
    progress_.done = summary_.traced + summary_.failed;
    progress_.failed = summary_.failed;
    progress_.current = task.Name();
    if (options_.progress) options_.progress(progress_);
  }

  Dataset& dataset_;
  const std::vector<Task> plan_;
  const TraceFunction& trace_;
  const GenerateOptions& options_;
  TimedBatch batch_;
  GenerateSummary summary_;
  Progress progress_;
  std::vector<std::int64_t> attempts_;
  std::vector<std::int64_t> again_;
};

/// The runs that labels of a point state and its own graph does not show, by
/// the point's row.
std::map<RowId, std::set<std::string>> RunsOfLabels(
    const Dataset& dataset, const std::map<RowId, StoredPoint>& points) {
  std::map<RowId, std::set<std::string>> runs;
  for (const Label& label : dataset.Labels()) {
    if (label.status == LabelStatus::kFailed) continue;
    const Point& point = points.at(label.point).point;
    const std::string run = TracedSetting(RunOfPoint(point, label.setting));
    if (!run.empty()) runs[label.point].insert(run);
  }
  return runs;
}

}  // namespace

GenerateSummary Generate(Dataset& dataset, const std::vector<Point>& plan,
                         const TraceFunction& trace,
                         const GenerateOptions& options) {
  std::map<decltype(KeyOf(Point{})), History> histories;
  for (const StoredPoint& stored : dataset.Points()) {
    histories[KeyOf(stored.point)] = {stored.graph, stored.attempts};
  }
  std::vector<Task> tasks;
  for (const Point& point : plan) {
    tasks.push_back({.point = point, .run = {}});
    const auto found = histories.find(KeyOf(point));
    if (found != histories.end()) tasks.back().history = found->second;
  }
  return Generation(dataset, std::move(tasks), trace, options).Run();
}

GenerateSummary TraceLabelRuns(Dataset& dataset, const TraceFunction& trace,
                               const GenerateOptions& options) {
  std::map<RowId, StoredPoint> points;
  for (StoredPoint& stored : dataset.Points()) {
    points.emplace(stored.id, std::move(stored));
  }
  std::map<std::pair<RowId, std::string>, History> histories;
  for (const RunGraph& graph : dataset.RunGraphs()) {
    histories[{graph.point, graph.run}] = {graph.graph, graph.attempts};
  }
  std::vector<Task> tasks;
  for (const auto& [row, runs] : RunsOfLabels(dataset, points)) {
    for (const std::string& run : runs) {
      tasks.push_back({.point = points.at(row).point, .run = run, .row = row});
      const auto found = histories.find({row, run});
      if (found != histories.end()) tasks.back().history = found->second;
    }
  }
  std::ranges::stable_sort(tasks, {}, [](const Task& task) {
    return std::pair(task.point.path, task.point.model);
  });
  return Generation(dataset, std::move(tasks), trace, options).Run();
}

}  // namespace foretell::dataset
