#include "src/runtime/compile/knapsack.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

// dp_knapsack of torch/_functorch/_activation_checkpointing/knapsack.py,
// PyTorch 2.13, whose solver is "dp" by default: the table of the longest
// runtime by number of items and memory, in float32. Only the newest row is
// needed, and of the others which entries the item of the row improves.

namespace foretell::runtime {
namespace {

constexpr double kUnits = 10'000;  ///< S.

/// Python's round(): halves to even numbers.
std::size_t UnitsOf(double memory) {
  return static_cast<std::size_t>(std::nearbyint(memory * kUnits));
}

}  // namespace

std::vector<bool> FillKnapsack(std::span<const KnapsackItem> items,
                               double capacity) {
  std::size_t left = UnitsOf(std::max(capacity, 0.0));
  std::vector<float> best(left + 1, 0.0F);
  std::vector<std::vector<bool>> improves;
  for (const KnapsackItem& item : items) {
    std::vector<bool>& row = improves.emplace_back(best.size(), false);
    const std::size_t units = UnitsOf(item.memory);
    for (std::size_t i = best.size(); i-- > units;) {
      const float with = best[i - units] + static_cast<float>(item.runtime);
      row[i] = with > best[i];
      best[i] = std::max(best[i], with);
    }
  }
  std::vector<bool> is_kept(items.size(), false);
  for (std::size_t i = items.size(); i-- > 0;) {
    if (!improves[i][left]) continue;
    is_kept[i] = true;
    left -= UnitsOf(items[i].memory);
  }
  return is_kept;
}

}  // namespace foretell::runtime
