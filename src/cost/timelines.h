#pragma once

#include <cstddef>
#include <vector>

#include "foretell/cost.h"

namespace foretell::cost {

/// CPU, GPU and link of a step so far, in microseconds.
class Timelines {
 public:
  explicit Timelines(std::size_t num_nodes) { done_us_.reserve(num_nodes); }

  /// Of all nodes, in their order. `arrives_us`: when another GPU has sent what
  /// the node receives.
  void Run(const NodeCost& node, double arrives_us = 0);
  /// When the newest node is done.
  double DoneUs() const { return done_us_.back(); }
  double EndUs() const;

 private:
  double cpu_us_ = 0;
  double gpu_us_ = 0;
  double link_us_ = 0;
  std::vector<double> done_us_;  ///< By node.
};

}  // namespace foretell::cost
