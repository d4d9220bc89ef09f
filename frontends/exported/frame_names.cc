#include "frontends/exported/frame_names.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace foretell::exported {
namespace {

/// "blocks.3" and "blocks.4".
bool DifferByNumber(std::string_view one, std::string_view other) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t end = one.find_last_not_of(kDigits) + 1;
  return end < one.size() && end < other.size() &&
         other.find_last_not_of(kDigits) + 1 == end &&
         one.substr(0, end) == other.substr(0, end);
}

template <typename Sequence, typename Equal>
std::size_t CommonPrefix(const Sequence& one, const Sequence& other,
                         const Equal& equal) {
  const auto [end, _] = std::ranges::mismatch(one, other, equal);
  return static_cast<std::size_t>(end - one.begin());
}

/// How one node follows another in the frames of Python.
struct Transition {
  std::size_t remaining = 0;    ///< Frames that have not returned.
  bool ends_statement = false;  ///< Of the innermost of them.
};

/// A line that calls a module and then another is in the next round of a loop
/// if these have numbers, or if it calls only once.
bool IsNextRound(const Node& from, const Node& to, std::size_t calls) {
  return DifferByNumber(from.calls[calls], to.calls[calls]) ||
         std::ranges::count(to.stack[calls].text, '(') == 1;
}

Transition Between(const Node& from, const Node& to) {
  const std::size_t lines = CommonPrefix(
      from.stack, to.stack, [](const SourceLine& a, const SourceLine& b) {
        return a.file == b.file && a.line == b.line;
      });
  const bool same_function = lines < from.stack.size() &&
                             lines < to.stack.size() &&
                             from.stack[lines].file == to.stack[lines].file;
  Transition result{.remaining = lines + (same_function ? 1U : 0U),
                    .ends_statement = same_function};
  // The frame of a module's forward() is the one after those of its callers,
  // of which the first is the network's own.
  const std::size_t calls =
      CommonPrefix(from.calls, to.calls, std::equal_to<std::string>());
  if (calls < std::min(from.calls.size(), to.calls.size()) &&
      calls < result.remaining && calls < lines) {
    result = {.remaining = calls + 1,
              .ends_statement = IsNextRound(from, to, calls)};
  }
  return result;
}

class FrameNames {
 public:
  explicit FrameNames(int num_slots)
      : ends_(static_cast<std::size_t>(num_slots)) {}

  /// The node number `index` is next.
  void Enter(const Node& node, std::size_t index) {
    if (node.stack.empty()) return;
    if (last_ != nullptr) Pass(Between(*last_, node), index);
    frames_.resize(node.stack.size());
    last_ = &node;
    std::vector<int> made;
    for (const Argument& output : node.outputs) {
      ForEachSlot(output, [&](int slot) { made.push_back(slot); });
    }
    if (!made.empty()) made_ = std::move(made);
  }

  std::vector<std::size_t> Finish(std::size_t num_nodes) {
    for (const Names& names : frames_) Forget(names, num_nodes);
    return std::move(ends_);
  }

 private:
  using Names = std::map<std::string, std::vector<int>>;

  void Pass(const Transition& transition, std::size_t index) {
    for (std::size_t i = transition.remaining; i < frames_.size(); ++i) {
      Forget(frames_[i], index);
    }
    frames_.resize(transition.remaining);
    if (transition.ends_statement) Assign(index);
  }

  /// The innermost frame's line is over.
  void Assign(std::size_t index) {
    Names& names = frames_.back();
    const std::vector<std::string> assigned =
        AssignedNames(last_->stack[frames_.size() - 1].text);
    const bool one_each = assigned.size() == made_.size();
    for (std::size_t i = 0; i < assigned.size(); ++i) {
      std::vector<int>& slots = names[assigned[i]];
      Forget(slots, index);
      slots.clear();
      if (one_each) {
        slots = {made_[i]};
      } else if (i == 0) {
        slots = made_;
      }
    }
  }

  void Forget(const std::vector<int>& slots, std::size_t index) {
    for (const int slot : slots) ends_[static_cast<std::size_t>(slot)] = index;
  }
  void Forget(const Names& names, std::size_t index) {
    for (const auto& [_, slots] : names) Forget(slots, index);
  }

  std::vector<std::size_t> ends_;
  std::vector<Names> frames_;  ///< Outermost first.
  const Node* last_ = nullptr;
  std::vector<int> made_;  ///< By the last node that made something.
};

}  // namespace

std::vector<std::size_t> NamesEnd(const Graph& graph) {
  FrameNames names(graph.num_slots);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    names.Enter(graph.nodes[i], i);
  }
  return names.Finish(graph.nodes.size());
}

}  // namespace foretell::exported
