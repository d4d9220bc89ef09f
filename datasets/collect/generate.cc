#include "datasets/collect/generate.h"

#include <fmt/core.h>

#include <map>
#include <optional>
#include <tuple>

#include "datasets/collect/timed_batch.h"
#include "datasets/store/store.h"
#include "src/core/bytes.h"
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

/// Only what a trace adds to the point that it was asked for.
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

class Generation {
 public:
  Generation(Dataset& dataset, const std::vector<Point>& plan,
             const TraceFunction& trace, const GenerateOptions& options)
      : dataset_(dataset),
        plan_(plan),
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
          [this](std::int64_t task) { return Encode(trace_(PointOf(task))); },
          [this](std::int64_t task, const Outcome& outcome) {
            Take(task, outcome);
          });
      tasks = again_;
    }
    batch_.Commit();
    return summary_;
  }

 private:
  const Point& PointOf(std::int64_t task) const {
    return plan_[static_cast<std::size_t>(task)];
  }

  /// Numbers of the points that are to be traced.
  std::vector<std::int64_t> Missing() {
    std::map<decltype(KeyOf(plan_[0])), StoredPoint> stored;
    for (StoredPoint& point : dataset_.Points()) {
      stored.emplace(KeyOf(point.point), std::move(point));
    }
    summary_.planned = std::ssize(plan_);
    attempts_.resize(plan_.size());
    std::vector<std::int64_t> missing;
    for (std::int64_t task = 0; task < std::ssize(plan_); ++task) {
      const auto found = stored.find(KeyOf(PointOf(task)));
      if (found != stored.end() && found->second.graph != 0) {
        ++summary_.present;
        continue;
      }
      if (found != stored.end() && !options_.retry_given_up) {
        attempts_[static_cast<std::size_t>(task)] = found->second.attempts;
      }
      if (attempts_[static_cast<std::size_t>(task)] >= options_.max_attempts) {
        ++summary_.given_up;
        continue;
      }
      missing.push_back(task);
    }
    return missing;
  }

  void Take(std::int64_t task, const Outcome& outcome) {
    const Point& point = PointOf(task);
    batch_.Begin();
    if (outcome.kind == Outcome::Kind::kDone) {
      const TracedPoint traced = Decode(point, outcome.text);
      dataset::StoreOf(dataset_).AddPacked(traced.point, traced.graph,
                                           traced.warnings);
      ++summary_.traced;
    } else {
      dataset_.AddFailure(point, outcome.text);
      if (!TryAgain(task, outcome)) {
        ++summary_.failed;
        summary_.failures.push_back(
            fmt::format("{}: {}", ToString(point), outcome.text));
      }
    }
    batch_.End();
    Report(point);
  }

  bool TryAgain(std::int64_t task, const Outcome& outcome) {
    const bool may_pass = outcome.kind != Outcome::Kind::kFailed;
    std::int64_t& attempts = attempts_[static_cast<std::size_t>(task)];
    ++attempts;
    if (!may_pass || attempts >= options_.max_attempts) return false;
    again_.push_back(task);
    return true;
  }

  void Report(const Point& point) {
    progress_.done = summary_.traced + summary_.failed;
    progress_.failed = summary_.failed;
    progress_.current = ToString(point);
    if (options_.progress) options_.progress(progress_);
  }

  Dataset& dataset_;
  const std::vector<Point>& plan_;
  const TraceFunction& trace_;
  const GenerateOptions& options_;
  TimedBatch batch_;
  GenerateSummary summary_;
  Progress progress_;
  std::vector<std::int64_t> attempts_;
  std::vector<std::int64_t> again_;
};

}  // namespace

GenerateSummary Generate(Dataset& dataset, const std::vector<Point>& plan,
                         const TraceFunction& trace,
                         const GenerateOptions& options) {
  return Generation(dataset, plan, trace, options).Run();
}

}  // namespace foretell::dataset
