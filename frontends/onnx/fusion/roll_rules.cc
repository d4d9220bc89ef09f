// roll(x, shifts, axes) is exported, for each axis in turn, as a Concat of the
// elements starting at some position and of those before it.
//
// Eager PyTorch runs one operator for all axes; windows that move over an image
// (Swin) roll it twice in every other block.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontends/onnx/fusion/rules.h"

namespace foretell::onnx {
namespace {

/// One axis of a roll: `range` of `source` comes first.
struct Turn {
  std::string source;
  SliceRange range;
};

/// Reads `concat` as a turn; its slices become part of the match.
std::optional<Turn> TakeTurn(Match& match, const Node& concat) {
  if (concat.inputs.size() != 2) return std::nullopt;
  const Node* front = match.Take(concat.inputs[0], "Slice");
  const Node* back = match.Take(concat.inputs[1], "Slice");
  if (front == nullptr || back == nullptr) return std::nullopt;
  const auto kept = RangeOf(match.body(), *front);
  const auto rest = RangeOf(match.body(), *back);
  const std::int64_t axis = IntOf(concat, "axis", 0);
  const bool fits = kept && rest && front->inputs[0] == back->inputs[0] &&
                    kept->axis == axis && rest->axis == axis &&
                    rest->begin == 0 && rest->end == kept->begin &&
                    kept->begin != 0;
  if (!fits) return std::nullopt;
  return Turn{front->inputs[0], *kept};
}

}  // namespace

std::optional<Replacement> FuseRoll(Match match) {
  std::optional<Turn> turn = TakeTurn(match, match.last());
  if (!turn) return std::nullopt;
  std::vector<Turn> turns = {*turn};  // The last one first.
  while (true) {
    Match attempt = match;
    const Node* concat = attempt.Take(turns.back().source, "Concat");
    turn = concat == nullptr ? std::nullopt : TakeTurn(attempt, *concat);
    if (!turn) break;
    match = std::move(attempt);
    turns.push_back(*turn);
  }
  std::vector<std::int64_t> axes, begins, ends;
  for (auto it = turns.rbegin(); it != turns.rend(); ++it) {
    axes.push_back(it->range.axis);
    begins.push_back(it->range.begin);
    ends.push_back(it->range.end);
  }
  return match.By(
      "Roll", {turns.back().source},
      {MakeInts("axes", std::move(axes)), MakeInts("begins", std::move(begins)),
       MakeInts("ends", std::move(ends))});
}

}  // namespace foretell::onnx
