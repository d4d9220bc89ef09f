#include "datasets/collect/fill.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "datasets/collect/order.h"
#include "datasets/collect/timed_batch.h"
#include "src/core/bytes.h"
#include "src/core/clock.h"
#include "src/sandbox/pool.h"

namespace foretell::dataset {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kCommitEveryS = 1;

std::string Encode(const Label& label) {
  ByteWriter out;
  for (const std::string* text :
       {&label.device, &label.setting, &label.source, &label.details,
        &label.measured_at, &label.reason}) {
    out.Text(*text);
  }
  out.Number(label.provenance);
  out.Number(label.status);
  for (const LabelQuantity& quantity : LabelQuantities()) {
    out.Number(label.*quantity.value);
  }
  return out.Take();
}

Label Decode(std::string_view bytes) {
  ByteReader in(bytes);
  Label label;
  for (std::string* text :
       {&label.device, &label.setting, &label.source, &label.details,
        &label.measured_at, &label.reason}) {
    *text = in.Text();
  }
  label.provenance = in.Number<Provenance>();
  label.status = in.Number<LabelStatus>();
  for (const LabelQuantity& quantity : LabelQuantities()) {
    label.*quantity.value = in.Number<std::optional<double>>();
  }
  return label;
}

class Filling {
 public:
  Filling(const Dataset& from, Dataset& into, const LabelFunction& label,
          const FillOptions& options)
      : from_(from),
        into_(into),
        label_(label),
        options_(options),
        started_(Clock::now()),
        batch_(into, options.workers == 0 ? 0 : kCommitEveryS) {}

  FillSummary Run() {
    const std::vector<std::int64_t> tasks = Plan();
    progress_.total = std::ssize(tasks);
    if (options_.workers == 0) {
      RunHere(tasks);
    } else {
      sandbox::RunInWorkers(
          tasks,
          {.workers = options_.workers, .deadline_s = options_.deadline_s},
          [this](std::int64_t task) { return Encode(label_(TaskOf(task))); },
          [this](std::int64_t task, const sandbox::Outcome& outcome) {
            if (outcome.kind == sandbox::Outcome::Kind::kDone) {
              Take(TaskOf(task), Decode(outcome.text));
            } else {
              Take(TaskOf(task), FailureOf(outcome.text));
            }
          });
    }
    batch_.Commit();
    return std::move(summary_);
  }

 private:
  const LabelTask& TaskOf(std::int64_t task) const {
    return tasks_[static_cast<std::size_t>(task)];
  }

  /// Attempts that failed, and -1 for points with a label, by point.
  std::map<std::string, std::int64_t> History() const {
    std::map<std::string, std::int64_t> history;
    for (const Dataset* dataset :
         {&from_, static_cast<const Dataset*>(&into_)}) {
      std::map<RowId, std::string> names;
      for (const StoredPoint& point : dataset->Points()) {
        names[point.id] = ToString(point.point);
      }
      for (const Label& label : dataset->Labels()) {
        if (label.device != options_.device) continue;
        if (label.source != options_.source) continue;
        std::int64_t& attempts = history[names[label.point]];
        if (label.status != LabelStatus::kFailed) attempts = -1;
        if (attempts >= 0) attempts = std::max(attempts, label.attempts);
      }
    }
    return history;
  }

  /// Fills tasks_ and returns the numbers of all.
  std::vector<std::int64_t> Plan() {
    std::vector<StoredPoint> stored;
    for (StoredPoint& point : from_.Points()) {
      const bool wanted = options_.needs_graph
                              ? point.graph != 0
                              : point.status != PointStatus::kFailed;
      if (wanted) stored.push_back(std::move(point));
    }
    std::vector<Point> points;
    for (const StoredPoint& point : stored) points.push_back(point.point);
    history_ = History();
    const std::vector<std::size_t> order = SamplingOrder(points, options_.seed);
    for (std::size_t place = 0; place < order.size(); ++place) {
      const auto rank = static_cast<std::int64_t>(place);
      if (rank % options_.shard.count != options_.shard.index - 1) continue;
      ++summary_.points;
      const std::int64_t rank_in_shard = rank / options_.shard.count;
      Consider(std::move(stored[order[place]]),
               rank_in_shard % options_.energy_every == 0);
    }
    std::vector<std::int64_t> tasks;
    for (std::int64_t i = 0; i < std::ssize(tasks_); ++i) tasks.push_back(i);
    return tasks;
  }

  void Consider(StoredPoint point, bool with_energy) {
    const auto found = history_.find(ToString(point.point));
    const std::int64_t attempts = found == history_.end() ? 0 : found->second;
    if (attempts < 0) {
      ++summary_.present;
    } else if (attempts >= options_.max_attempts) {
      ++summary_.given_up;
    } else if (options_.limit && std::ssize(tasks_) >= *options_.limit) {
      ++summary_.left;
    } else {
      tasks_.push_back({std::move(point), with_energy});
    }
  }

  void RunHere(const std::vector<std::int64_t>& tasks) {
    for (const std::int64_t task : tasks) {
      if (IsOverBudget()) {
        summary_.left += std::ssize(tasks) - task;
        return;
      }
      Label label;
      try {
        label = label_(TaskOf(task));
      } catch (const std::exception& error) {
        label = FailureOf(error.what());
      }
      Take(TaskOf(task), std::move(label));
    }
  }

  bool IsOverBudget() const {
    const std::chrono::duration<double> passed = Clock::now() - started_;
    return options_.budget_s && passed.count() > *options_.budget_s;
  }

  Label FailureOf(const std::string& reason) const {
    return {.setting = options_.setting,
            .status = LabelStatus::kFailed,
            .reason = reason};
  }

  void Take(const LabelTask& task, Label label) {
    batch_.Begin();
    const std::string name = ToString(task.point.point);
    label.point = RowIn(task.point);
    label.device = options_.device;
    label.source = options_.source;
    label.provenance = options_.provenance;
    if (label.measured_at.empty()) label.measured_at = NowUtc();
    label.attempts = 1 + std::max<std::int64_t>(0, history_[name]);
    const bool failed = label.status == LabelStatus::kFailed;
    into_.RemoveFailures(label.point, label.device, label.source);
    into_.PutLabel(label);
    ++(failed ? summary_.failed : summary_.labelled);
    if (failed) {
      summary_.failures.push_back(fmt::format("{}: {}", name, label.reason));
    }
    batch_.End();
    Report(name);
  }

  /// The row of a point in the dataset that is written.
  RowId RowIn(const StoredPoint& point) {
    return into_.path() == from_.path() ? point.id
                                        : into_.AddUntraced(point.point);
  }

  void Report(const std::string& name) {
    progress_.done = summary_.labelled + summary_.failed;
    progress_.failed = summary_.failed;
    progress_.current = name;
    if (options_.progress) options_.progress(progress_);
  }

  const Dataset& from_;
  Dataset& into_;
  const LabelFunction& label_;
  const FillOptions& options_;
  Clock::time_point started_;
  TimedBatch batch_;
  std::vector<LabelTask> tasks_;
  std::map<std::string, std::int64_t> history_;
  FillSummary summary_;
  Progress progress_;
};

}  // namespace

FillSummary FillLabels(const Dataset& from, Dataset& into,
                       const LabelFunction& label, const FillOptions& options) {
  return Filling(from, into, label, options).Run();
}

}  // namespace foretell::dataset
