// The networks on a GPU beside the CPU: with the CUDA kernel where the build
// has it (FORETELL_WITH_CUDA), else with ATen's operators.

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <utility>
#include <vector>

#include "src/network/device_sum.h"
#include "src/network/network.h"
#include "src/network/segment_ops.h"
#include "tests/network/toy_graphs.h"

namespace foretell::learned {
namespace {

constexpr double kTolerance = 1e-4;

class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device here";
    torch::manual_seed(1);
    std::vector<GraphFeatures> graphs;
    for (std::uint32_t seed = 0; seed < 9; ++seed) {
      graphs.push_back(RandomGraph(20 + 30 * seed, seed));
    }
    batch_ = CollateAll(graphs);
  }

  static at::Device Gpu() { return at::Device(at::kCUDA, 0); }

  GraphBatch batch_;
};

using Results = std::vector<at::Tensor>;

double Distance(const at::Tensor& a, const at::Tensor& b) {
  return (a.cpu() - b.cpu()).abs().max().item<double>();
}

// The output and the gradient in `x` of the two kinds of sum.
Results Sums(const GraphBatch& batch, const at::Tensor& x,
             Aggregation (*make)(const GraphBatch&)) {
  const Aggregation aggregation = make(batch);
  at::Tensor leaf = x.detach().clone().set_requires_grad(true);
  const at::Tensor y = Aggregate(leaf, aggregation);
  (y * y).sum().backward();
  return {y.detach(), leaf.grad()};
}

TEST_F(OnGpu, SumsAndGradientsAgreeWithTheCpu) {
  const GraphBatch moved = batch_.To(Gpu());
  // Widths with and without reads of four floats, below and above one warp.
  for (const std::int64_t width : {1, 3, 4, 126, 128, 130, 512}) {
    const at::Tensor x = torch::randn({batch_.num_nodes(), width});
    for (const auto& make :
         {&SumOfProducers, &MeanOfProducers, &SumWithSelf, &SymmetricMean}) {
      const Results cpu = Sums(batch_, x, make);
      const Results gpu = Sums(moved, x.to(Gpu()), make);
      EXPECT_LT(Distance(cpu[0], gpu[0]), kTolerance) << width;
      EXPECT_LT(Distance(cpu[1], gpu[1]), kTolerance) << width;
    }
  }
}

TEST_F(OnGpu, KernelGivesTheSameBitsEveryTime) {
  if (!HasDeviceSum()) GTEST_SKIP() << "built without FORETELL_WITH_CUDA";
  const GraphBatch moved = batch_.To(Gpu());
  const at::Tensor x = torch::randn({batch_.num_nodes(), 512}).to(Gpu());
  const Results first = Sums(moved, x, &MeanOfProducers);
  for (int run = 0; run < 5; ++run) {
    const Results again = Sums(moved, x, &MeanOfProducers);
    EXPECT_TRUE(first[0].equal(again[0]));
    EXPECT_TRUE(first[1].equal(again[1]));
  }
}

TEST_F(OnGpu, NetworksAndTheirGradientsAgreeWithTheCpu) {
  const GraphBatch moved = batch_.To(Gpu());
  for (const LayerKindRow& row : kLayerKinds) {
    for (const Pooling pooling :
         {Pooling::kSum, Pooling::kMean, Pooling::kMax}) {
      const auto network =
          MakeNetwork({.kind = {row.layer}, .hidden = 64, .pooling = pooling});
      network->eval();
      const at::Tensor cpu = network->forward(batch_);
      cpu.square().sum().backward();
      const at::Tensor gradient =
          network->parameters()[0].grad().detach().clone();
      network->zero_grad();
      network->to(Gpu());
      const at::Tensor gpu = network->forward(moved);
      gpu.square().sum().backward();
      EXPECT_LT(Distance(cpu, gpu), kTolerance) << row.name;
      const double scale = gradient.abs().max().item<double>() + 1;
      EXPECT_LT(Distance(gradient, network->parameters()[0].grad()),
                1e-3 * scale)
          << row.name;
    }
  }
}

TEST_F(OnGpu, TrainsUnderAutocast) {
  const GraphBatch moved = batch_.To(Gpu());
  const auto network = MakeNetwork({.hidden = 64});
  network->to(Gpu());
  at::autocast::set_autocast_enabled(at::kCUDA, true);
  const at::Tensor y = network->forward(moved);
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCUDA, false);
  y.to(at::kFloat).square().sum().backward();
  for (const at::Tensor& parameter : network->parameters()) {
    EXPECT_TRUE(parameter.grad().isfinite().all().item<bool>());
  }
}

}  // namespace
}  // namespace foretell::learned
