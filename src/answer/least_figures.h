#pragma once

#include <optional>

#include "foretell/figure.h"
#include "foretell/graph.h"
#include "foretell/memory.h"
#include "src/cost/launched_step.h"

namespace foretell {

/// What a step costs at least on a whole device, by arithmetic alone: no
/// prediction of it may be lower, by whatever method. What it refers to must
/// outlive it.
class LeastFigures {
 public:
  /// `memory` is SimulateMemory of `graph` and `options`, with corrections of
  /// the context.
  LeastFigures(const OperatorGraph& graph, const cost::LaunchedStep& step,
               const MemoryOptions& options, const MemoryBreakdown& memory)
      : graph_(graph), step_(step), options_(options), memory_(memory) {}

  /// In the target's unit:
  ///
  ///   memory   LeastMemory: what the allocator cannot do without, and the CUDA
  ///            context. Found when first asked for.
  ///   latency  products at the highest rate of the device, weights of products
  ///            at its bandwidth except for what its L2 cache may hold: the
  ///            longer of both.
  ///   energy   the idle board over that time.
  double Of(Target target);

 private:
  double LatencyMs() const;

  const OperatorGraph& graph_;
  const cost::LaunchedStep& step_;
  const MemoryOptions& options_;
  const MemoryBreakdown& memory_;
  std::optional<double> memory_mib_;
};

}  // namespace foretell
