#include "src/parallel/tensor_split.h"

namespace foretell::parallel {

std::optional<Split> ReshapedSplit(const Shape& from, const Split& split,
                                   const Shape& to) {
  std::int64_t block = split.period;
  for (auto d = static_cast<std::size_t>(split.dim) + 1; d < from.size(); ++d) {
    block *= from[d];
  }
  std::int64_t stride = 1;  // Of dimension d.
  for (std::size_t d = to.size(); d-- > 0; stride *= to[d]) {
    if (block <= stride || block > stride * to[d]) continue;
    if (block % stride != 0 || stride * to[d] % block != 0) return std::nullopt;
    return Split{static_cast<std::int32_t>(d), block / stride};
  }
  return std::nullopt;
}

bool SplitBoard::Demand(ValueId id, const Split& split) {
  std::optional<Split>& known = splits_[static_cast<std::size_t>(id)];
  if (known) return *known == split;
  const Shape& shape = ShapeOf(id);
  const auto dim = static_cast<std::size_t>(split.dim);
  if (dim >= shape.size() || split.period < 2) return false;
  if (shape[dim] == 0 || shape[dim] % split.period != 0) return false;
  known = split;
  return true;
}

}  // namespace foretell::parallel
