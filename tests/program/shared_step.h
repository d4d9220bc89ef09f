#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "foretell/parallel.h"
#include "foretell/trace.h"
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
/// `plan` runs it; an empty plan: alone.
inline Trace TraceShared(const Network& network, const std::string& plan,
                         TraceDevice device,
                         const std::vector<std::int64_t>& tokens,
                         Precision precision = Precision::kFp32) {
  const std::vector<BoundInput> inputs = {{"x", {DType::kI64, tokens}}};
  return TraceProgram(
      FakeProgram("net", inputs, network), inputs,
      {.run = {.mode = Mode::kTraining,
               .precision = precision,
               .optimizer = Optimizer::kMomentum},
       .loop = {.parallel = plan.empty() ? ParallelSpec{}
                                         : ParseParallel("--parallel", plan)},
       .device = device});
}

}  // namespace foretell::program_test
