#include "cli/flags/open_model.h"

#include "foretell/zoo.h"

namespace foretell::cli {

Program OpenModel(const std::string& name, const LoadOptions& options) {
  return name.starts_with(zoo::kPrefix) ? zoo::Load(name)
                                        : LoadModel(name, options);
}

std::optional<LoadingModel> ModelQueue::Start(std::size_t index) const {
  if (index >= names_.size()) return std::nullopt;
  if (names_[index].starts_with(zoo::kPrefix)) return std::nullopt;
  return LoadingModel(names_[index], options_);
}

Program ModelQueue::Next() {
  std::optional<LoadingModel> now = std::move(ahead_);
  if (next_ == 0) now = Start(next_);
  ahead_ = Start(next_ + 1);
  const std::string& name = names_.at(next_++);
  return now ? now->Wait() : OpenModel(name, options_);
}

}  // namespace foretell::cli
