#include "src/network/ensemble.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <utility>

namespace foretell::learned {
namespace {

class Ensemble final : public Network {
 public:
  Ensemble(const NetworkOptions& options,
           std::vector<std::shared_ptr<Network>> members)
      : Network(options), members_(std::move(members)) {
    auto list = std::make_shared<torch::nn::Module>();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      list->register_module(fmt::format("{}", i), members_[i]);
    }
    register_module("members", std::move(list));
  }

  at::Tensor forward(const GraphBatch& batch) override {
    std::vector<at::Tensor> outputs;
    for (const std::shared_ptr<Network>& member : members_) {
      outputs.push_back(member->forward(batch));
    }
    return at::stack(outputs).mean(0);
  }

  TrainingOutput TrainingForward(const GraphBatch& batch) override {
    TrainingOutput all;
    std::vector<at::Tensor> outputs;
    for (const std::shared_ptr<Network>& member : members_) {
      TrainingOutput one = member->TrainingForward(batch);
      outputs.push_back(std::move(one.prediction));
      all.supervised.insert(all.supervised.end(), one.supervised.begin(),
                            one.supervised.end());
    }
    all.prediction = at::stack(outputs).mean(0);
    return all;
  }

  /// Those of the first: before anything has been learned all see the same.
  at::Tensor InputsToScale(const GraphBatch& batch) override {
    return members_.front()->InputsToScale(batch);
  }
  void SetInputScale(const at::Tensor& mean,
                     const at::Tensor& deviation) override {
    for (const std::shared_ptr<Network>& member : members_) {
      member->SetInputScale(mean, deviation);
    }
  }

  /// Root mean square of all members' inputs.
  at::Tensor InputDistance(const GraphBatch& batch) override {
    std::vector<at::Tensor> distances;
    for (const std::shared_ptr<Network>& member : members_) {
      distances.push_back(member->InputDistance(batch));
      if (!distances.back().defined()) return {};
    }
    return at::stack(distances).square().mean(0).sqrt();
  }

 private:
  std::vector<std::shared_ptr<Network>> members_;
};

}  // namespace

std::shared_ptr<Network> MakeEnsemble(
    const NetworkOptions& options,
    std::vector<std::shared_ptr<Network>> members) {
  return std::make_shared<Ensemble>(options, std::move(members));
}

}  // namespace foretell::learned
