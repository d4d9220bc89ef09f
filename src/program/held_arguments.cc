#include "src/program/held_arguments.h"

#include <algorithm>
#include <cstddef>

namespace foretell {

void HeldArguments::Enter(const std::vector<std::string>& calls, NodeId node) {
  std::size_t common = 0;
  while (common < std::min(open_.size(), calls.size()) &&
         open_[common].name == calls[common]) {
    ++common;
  }
  open_.resize(common);
  for (std::size_t i = common; i < calls.size(); ++i) {
    open_.push_back({.name = calls[i], .first = node, .arguments = {}});
  }
}

void HeldArguments::Read(const at::Tensor& tensor, NodeId maker) {
  const auto call = std::ranges::find_if(
      open_, [maker](const Call& each) { return each.first > maker; });
  if (call == open_.end()) return;
  std::vector<at::Tensor>& held = call->arguments;
  const bool is_held = std::ranges::any_of(
      held, [&](const at::Tensor& each) { return each.is_same(tensor); });
  if (!is_held) held.push_back(tensor);
}

}  // namespace foretell
