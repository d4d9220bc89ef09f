#include "src/program/optimizer_step.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <functional>
#include <memory>

#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using Tensors = std::vector<at::Tensor>;

Tensors StartingWeights() {
  at::manual_seed(3);
  Tensors tensors = {at::randn({5, 3}), at::randn({7})};
  for (at::Tensor& tensor : tensors) tensor.set_requires_grad(true);
  return tensors;
}

/// A gradient that differs from step to step.
void SetGradients(Tensors& weights, int step) {
  for (at::Tensor& weight : weights) {
    weight.mutable_grad() = at::mul(weight.detach(), 0.5 + step);
  }
}

struct Case {
  Optimizer optimizer;
  std::function<std::unique_ptr<torch::optim::Optimizer>(Tensors)> reference;
};

class OptimizerStepTest : public testing::TestWithParam<Case> {};

void ExpectTheNumbersOfTorchOptim(const Case& tested, StepCode code) {
  Tensors ours = StartingWeights();
  Tensors theirs = StartingWeights();
  OptimizerStep step(tested.optimizer, ours, code);
  const auto reference = tested.reference(theirs);
  for (int i = 0; i < 3; ++i) {
    SetGradients(ours, i);
    SetGradients(theirs, i);
    step.Step();
    reference->step();
    for (std::size_t k = 0; k < ours.size(); ++k) {
      EXPECT_TRUE(at::allclose(ours[k], theirs[k], 1e-6, 1e-7))
          << "step " << i << "\n"
          << ours[k] << theirs[k];
      EXPECT_FALSE(at::equal(ours[k], StartingWeights()[k])) << "nothing moved";
    }
  }
}

TEST_P(OptimizerStepTest, GivesTheNumbersOfTorchOptim) {
  ExpectTheNumbersOfTorchOptim(GetParam(), StepCode::kLists);
}

TEST_P(OptimizerStepTest, GivesTheSameOneByOne) {
  ExpectTheNumbersOfTorchOptim(GetParam(), StepCode::kOneByOne);
}

TEST_P(OptimizerStepTest, GivesTheSameFused) {
  if (HasFusedStep(GetParam().optimizer)) {
    ExpectTheNumbersOfTorchOptim(GetParam(), StepCode::kFused);
  } else {
    ExpectError(
        [] {
          OptimizerStep step(GetParam().optimizer, StartingWeights(),
                             StepCode::kFused);
        },
        ErrorCode::kInvalidArgument, "PyTorch has no fused step of it");
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OptimizerStepTest,
    testing::Values(Case{Optimizer::kSgd,
                         [](Tensors w) {
                           return std::make_unique<torch::optim::SGD>(
                               w, torch::optim::SGDOptions(1e-3));
                         }},
                    Case{Optimizer::kMomentum,
                         [](Tensors w) {
                           return std::make_unique<torch::optim::SGD>(
                               w, torch::optim::SGDOptions(1e-3).momentum(0.9));
                         }},
                    Case{Optimizer::kAdam,
                         [](Tensors w) {
                           return std::make_unique<torch::optim::Adam>(w);
                         }},
                    Case{Optimizer::kAdamW,
                         [](Tensors w) {
                           return std::make_unique<torch::optim::AdamW>(w);
                         }},
                    Case{Optimizer::kAmsgrad,
                         [](Tensors w) {
                           return std::make_unique<torch::optim::AdamW>(
                               w, torch::optim::AdamWOptions().amsgrad(true));
                         }},
                    Case{Optimizer::kRmsProp,
                         [](Tensors w) {
                           return std::make_unique<torch::optim::RMSprop>(
                               w, torch::optim::RMSpropOptions(1e-3));
                         }},
                    Case{Optimizer::kAdagrad,
                         [](Tensors w) {
                           return std::make_unique<torch::optim::Adagrad>(
                               w, torch::optim::AdagradOptions(1e-3));
                         }}),
    [](const auto& tested) {
      return std::string(OptimizerName(tested.param.optimizer));
    });

TEST(OptimizerStep, LeavesWeightsWithoutGradientAlone) {
  Tensors weights = StartingWeights();
  const at::Tensor before = weights[1].detach().clone();
  OptimizerStep step(Optimizer::kAdam, weights);
  weights[0].mutable_grad() = at::ones_like(weights[0]);
  step.Step();
  EXPECT_TRUE(at::equal(weights[1], before));
}

TEST(OptimizerStep, FillGradWithZerosKeepsGradients) {
  Tensors weights = StartingWeights();
  OptimizerStep step(Optimizer::kSgd, weights);
  SetGradients(weights, 0);
  const void* before = weights[0].grad().data_ptr();
  step.FillGradWithZeros();
  EXPECT_EQ(weights[0].grad().data_ptr(), before);
  EXPECT_TRUE(at::equal(weights[0].grad(), at::zeros({5, 3})));
}

TEST(OptimizerStep, ZeroGradDropsGradients) {
  Tensors weights = StartingWeights();
  OptimizerStep step(Optimizer::kSgd, weights);
  SetGradients(weights, 0);
  step.ZeroGrad();
  for (const at::Tensor& weight : weights) {
    EXPECT_FALSE(weight.grad().defined());
  }
}

}  // namespace
}  // namespace foretell
