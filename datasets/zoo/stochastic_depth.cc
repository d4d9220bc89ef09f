#include "datasets/zoo/stochastic_depth.h"

#include <ATen/ops/empty.h>
#include <fmt/core.h>

#include <vector>

#include "datasets/zoo/family.h"
#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {

StochasticDepth::StochasticDepth(double probability)
    : probability_(probability) {
  Require(probability >= 0 && probability <= 1,
          fmt::format("stochastic_depth={:f}: expected a probability",
                      probability));
}

at::Tensor StochasticDepth::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  if (!is_training() || probability_ == 0) return x;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(x.dim()), 1);
  sizes[0] = x.size(0);
  at::Tensor noise = at::empty(sizes, x.options());
  noise.bernoulli_(1 - probability_);
  if (probability_ < 1) noise.div_(1 - probability_);
  return x * noise;
}

}  // namespace foretell::zoo
