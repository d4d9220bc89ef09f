#include "src/runtime/compile/knapsack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace foretell::runtime {
namespace {

TEST(Knapsack, KeepsTheLongestRuntimeThatFits) {
  // The item of most runtime for its memory, 6 for 0.5, is not among the best.
  EXPECT_EQ(FillKnapsack({{{0.5, 6}, {0.4, 4}, {0.4, 4}}}, 0.8),
            (std::vector<bool>{false, true, true}));
}

TEST(Knapsack, KeepsWhatTakesNoUnitOfMemory) {
  EXPECT_EQ(FillKnapsack({{{1e-5, 1}, {1, 9}}}, 0),
            (std::vector<bool>{true, false}));
}

TEST(Knapsack, PrefersTheFirstOfEqualItems) {
  EXPECT_EQ(FillKnapsack({{{0.5, 1}, {0.5, 1}}}, 0.5),
            (std::vector<bool>{true, false}));
}

TEST(Knapsack, IsAsGoodAsAnyChoice) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<KnapsackItem> items(8);
    for (KnapsackItem& item : items) {
      item = {static_cast<double>(random() % 50) / 100,
              static_cast<double>(random() % 100)};
    }
    const auto runtime_of = [&](auto is_kept) {
      double memory = 0, runtime = 0;
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (!is_kept(i)) continue;
        memory += items[i].memory;
        runtime += items[i].runtime;
      }
      return memory <= 1 + 1e-9 ? runtime : -1;
    };
    double best = 0;
    for (unsigned choice = 0; choice < 256; ++choice) {
      best = std::max(best, runtime_of([&](std::size_t i) {
                        return (choice >> i & 1) == 1;
                      }));
    }
    const std::vector<bool> kept = FillKnapsack(items, 1);
    EXPECT_EQ(runtime_of([&](std::size_t i) { return bool{kept[i]}; }), best);
  }
}

}  // namespace
}  // namespace foretell::runtime
