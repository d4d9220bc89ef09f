#include "cli/flags/open_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "cli/flags/near_models.h"
#include "foretell/error.h"
#include "foretell/zoo.h"
#include "src/core/huge_pages.h"

namespace foretell::cli {
namespace {

/// Models opened ahead; each is a process with a graph in it.
constexpr std::size_t kMostAhead = 8;
/// Number of sandboxes from which making forks cheaper pays off.
constexpr std::size_t kManyModels = 12;

/// What `open` returns. If `name` is not a model, the error states what else it
/// may be: a network of the zoo, a Python module.
Program OpenFile(const std::string& name,
                 const std::function<Program()>& open) {
  try {
    return open();
  } catch (const Error& error) {
    const bool is_missing = error.code() == ErrorCode::kNotFound;
    std::string step =
        is_missing || name.ends_with(".py") ? NextStepFor(name) : "";
    if (error.code() == ErrorCode::kUnsupported && step.empty()) {
      step = zoo::WhyNoNetwork(name);
    }
    if (step.empty()) throw;
    throw Error(error.code(), fmt::format("{}; {}", error.what(), step));
  }
}

}  // namespace

Program OpenModel(const std::string& name, const LoadOptions& options) {
  if (zoo::IsNetwork(name)) return zoo::Load(name);
  return OpenFile(name, [&] { return LoadModel(name, options); });
}

ModelQueue::ModelQueue(std::vector<std::string> names, LoadOptions options,
                       std::vector<StepRequest> expected)
    : names_(std::move(names)),
      options_(std::move(options)),
      expected_(std::move(expected)),
      most_ahead_(std::clamp<std::size_t>(std::thread::hardware_concurrency(),
                                          1, kMostAhead)) {
  if (names_.size() < kManyModels || options_.sandbox == Sandbox::kOff) return;
  InitializeTracing();
  PutHeapOnHugePages();
}

std::optional<LoadingModel> ModelQueue::Start(const std::string& name) const {
  if (zoo::IsNetwork(name)) return std::nullopt;
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
  if (!now) return OpenModel(name, options_);
  return OpenFile(name, [&] { return now->Wait(); });
}

}  // namespace foretell::cli
