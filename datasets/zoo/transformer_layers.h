#pragma once

#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/network.h"

namespace foretell::zoo {

/// A fully connected layer as Python's nn.Linear runs it: one operator for any
/// rank. torch::nn::Linear uses two operators unless its input is a matrix.
class DenseImpl final : public torch::nn::LinearImpl {
 public:
  DenseImpl(std::int64_t in, std::int64_t out, bool has_bias = true);

  /// x: [..., in]; returns [..., out].
  at::Tensor forward(const at::Tensor& x);
};
TORCH_MODULE(Dense);

/// Stochastic depth (Huang et al. 2016): in training, zeroes whole samples of a
/// branch with probability `rate` and scales the others up to compensate.
class DropPathImpl final : public torch::nn::Module {
 public:
  explicit DropPathImpl(double rate) : rate_(rate) {}

  at::Tensor forward(const at::Tensor& x);

 private:
  double rate_;
};
TORCH_MODULE(DropPath);

/// Rates of `count` blocks, rising evenly from 0 to `last`.
std::vector<double> DropPathRates(std::int64_t count, double last);

/// Normalisation over the last dimension.
torch::nn::LayerNorm Norm(std::int64_t width, double epsilon);

/// Projects a branch, applies dropout, adds the branch's input, and the norm.
class BranchOutput final : public torch::nn::Module {
 public:
  BranchOutput(std::int64_t in, std::int64_t width, double dropout,
               double epsilon)
      : dropout_(dropout) {
    dense_ = register_module("dense", Dense(in, width));
    norm_ = register_module("norm", Norm(width, epsilon));
    register_module("dropout", dropout_);
  }

  at::Tensor forward(const at::Tensor& branch, const at::Tensor& input) {
    const ModuleScope scope(*this);
    at::Tensor y = dense_->forward(branch);
    y = dropout_->forward(y);
    return norm_->forward(at::add(y, input));
  }

 private:
  Dense dense_ = nullptr;
  torch::nn::LayerNorm norm_ = nullptr;
  torch::nn::Dropout dropout_;
};

/// Dense, activation (a name of AddActivation), dense: the position-wise part
/// of a transformer block.
Chain FeedForward(std::int64_t width, std::int64_t inner,
                  std::string_view activation);

/// [batch, tokens, heads × d] as [batch, heads, tokens, d]. Copies nothing.
at::Tensor SplitHeads(const at::Tensor& x, std::int64_t heads);
/// Inverse of SplitHeads, contiguous.
at::Tensor MergeHeads(const at::Tensor& x);

/// Throws Error(kInvalidArgument) unless `heads` divide `width`.
void RequireHeads(std::int64_t width, std::int64_t heads);
/// Throws Error(kInvalidArgument) unless `seq` is 1 to `positions`.
void RequirePositions(std::int64_t seq, std::int64_t positions);
/// Throws Error(kInvalidArgument) unless `image_size` is a positive multiple of
/// `unit` pixels.
void RequireMultiple(std::int64_t image_size, std::int64_t unit);

}  // namespace foretell::zoo
