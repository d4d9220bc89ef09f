#include "cli/flags/open_model.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "foretell/zoo.h"

namespace foretell::cli {
namespace {

/// Each is a process with a graph in it.
constexpr std::size_t kMostAhead = 8;

}  // namespace

Program OpenModel(const std::string& name, const LoadOptions& options) {
  return name.starts_with(zoo::kPrefix) ? zoo::Load(name)
                                        : LoadModel(name, options);
}

ModelQueue::ModelQueue(std::vector<std::string> names, LoadOptions options,
                       std::vector<ExpectedTrace> expected)
    : names_(std::move(names)),
      options_(std::move(options)),
      expected_(std::move(expected)),
      most_ahead_(std::clamp<std::size_t>(std::thread::hardware_concurrency(),
                                          1, kMostAhead)) {}

std::optional<LoadingModel> ModelQueue::Start(const std::string& name) const {
  if (name.starts_with(zoo::kPrefix)) return std::nullopt;
  return LoadingModel(name, options_, expected_);
}

Program ModelQueue::Next() {
  const std::string& name = names_.at(next_);
  const auto start_until = [this](std::size_t end) {
    while (next_ + ahead_.size() < std::min(end, names_.size())) {
      ahead_.push_back(Start(names_[next_ + ahead_.size()]));
    }
  };
  start_until(next_ + 1);
  std::optional<LoadingModel> now = std::move(ahead_.front());
  ahead_.pop_front();
  ++next_;
  start_until(next_ + most_ahead_);
  return now ? now->Wait() : OpenModel(name, options_);
}

}  // namespace foretell::cli
