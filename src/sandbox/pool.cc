// Workers receive the numbers of tasks and request nothing, so that one that
// crashes in the middle of an untrusted model leaves no lock and no row half
// written behind: all writing is done here. Which task it was working on is
// known, and only that one is lost.

#include "src/sandbox/pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "src/core/parse_number.h"

namespace foretell::sandbox {
namespace {

using TaskWork = std::function<std::string(std::int64_t)>;
using Done = std::function<void(std::int64_t, const Outcome&)>;

constexpr double kWaitSeconds = 0.1;

struct Place {
  std::optional<Worker> worker;
  std::optional<std::int64_t> task;
};

bool IsBusy(const Place& place) { return place.task.has_value(); }

class Pool {
 public:
  Pool(std::span<const std::int64_t> tasks, const PoolOptions& options,
       const TaskWork& work, const Done& done)
      : tasks_(tasks), options_(options), work_(work), done_(done) {}

  void Run() {
    places_.resize(std::min<std::size_t>(
        static_cast<std::size_t>(std::max(options_.workers, 1)),
        tasks_.size()));
    for (Place& place : places_) Start(place);
    while (std::ranges::any_of(places_, &IsBusy)) Wait();
  }

 private:
  void Start(Place& place) {
    if (next_ == tasks_.size()) return;
    if (!place.worker) {
      place.worker.emplace(WorkerOptions{.deadline_s = options_.deadline_s},
                           [this] {
                             return Worker::Work([this](std::string_view task) {
                               return work_(*ParseNumber<std::int64_t>(task));
                             });
                           });
    }
    place.task = tasks_[next_++];
    place.worker->Give(fmt::format("{}", *place.task));
  }

  void Wait() {
    std::vector<int> ends;
    for (Place& place : places_) {
      if (IsBusy(place)) ends.push_back(place.worker->descriptors().front());
    }
    AwaitReadable(ends, Deadline::In(kWaitSeconds));
    for (Place& place : places_) {
      if (!IsBusy(place)) continue;
      if (auto outcome = place.worker->Poll()) Finish(place, *outcome);
    }
  }

  void Finish(Place& place, Outcome& outcome) {
    if (outcome.kind == Outcome::Kind::kDied) {
      outcome.text = fmt::format("the worker process: {}", outcome.text);
      place.worker.reset();
    } else if (outcome.kind == Outcome::Kind::kTimedOut) {
      outcome.text =
          fmt::format("exceeded its deadline of {} s", options_.deadline_s);
      place.worker.reset();
    }
    const std::int64_t task = *place.task;
    place.task.reset();
    Start(place);
    done_(task, outcome);
  }

  std::span<const std::int64_t> tasks_;
  const PoolOptions& options_;
  const TaskWork& work_;
  const Done& done_;
  std::size_t next_ = 0;
  std::vector<Place> places_;
};

}  // namespace

void RunInWorkers(
    std::span<const std::int64_t> tasks, const PoolOptions& options,
    const std::function<std::string(std::int64_t)>& work,
    const std::function<void(std::int64_t, const Outcome&)>& done) {
  Pool(tasks, options, work, done).Run();
}

}  // namespace foretell::sandbox
