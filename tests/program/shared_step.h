#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "foretell/parallel.h"
#include "foretell/trace.h"
#include "tests/parallel/real_rows.h"
#include "tests/program/fake_program.h"

namespace foretell::program_test {

/// Layer norm over the last dimension.
struct Norm {
  Norm(Weights& weights, const std::string& name, std::int64_t width)
      : weight(weights.Ones(name + ".weight", width)),
        bias(weights.Ones(name + ".bias", width)) {}
  at::Tensor operator()(const at::Tensor& x) const {
    return at::layer_norm(x, weight.sizes(), weight, bias);
  }
  at::Tensor weight;
  at::Tensor bias;
};

/// A training step with momentum of a network of whole numbers, as one GPU of
/// `plan` runs it; an empty plan: alone. The rest is of `options`.
inline Trace TraceShared(const Network& network, const std::string& plan,
                         TraceDevice device,
                         const std::vector<std::int64_t>& tokens,
                         TraceOptions options = {}) {
  const std::vector<BoundInput> inputs = {{"x", {DType::kI64, tokens}}};
  options.run.mode = Mode::kTraining;
  options.run.optimizer = Optimizer::kMomentum;
  options.device = device;
  if (!plan.empty()) {
    options.loop.parallel = ParseParallel("--parallel", plan);
  }
  return TraceProgram(FakeProgram("net", inputs, network), inputs, options);
}

/// How the network of a row of tests/golden/parallel is trained:
/// "-checkpointed" runs the modules `blocks` again, and batches may add up.
inline TraceOptions OptionsOf(const parallel_test::RealRow& row,
                              const std::string& blocks) {
  TraceOptions options;
  options.loop.accumulation = row.batches;
  if (row.network.ends_with("-checkpointed")) options.loop.recompute = blocks;
  return options;
}

}  // namespace foretell::program_test
