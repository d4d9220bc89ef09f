#pragma once

#include <span>
#include <vector>

namespace foretell::runtime {

/// A tensor that may be kept.
struct KnapsackItem {
  double memory = 0;   ///< Share of the capacity's unit, at least 0.
  double runtime = 0;  ///< Saved where it is kept.
};

/// By item, whether it is kept: those of the longest runtime whose memory is at
/// most `capacity`, in units of 1/10000, as torch.compile chooses among equals.
std::vector<bool> FillKnapsack(std::span<const KnapsackItem> items,
                               double capacity);

}  // namespace foretell::runtime
