// Networks over vectors and one-dimensional sequences.

#include <utility>

#include "tests/program/layers.h"
#include "tests/program/networks.h"

namespace foretell::program_test {
namespace {

constexpr std::int64_t kHidden = 12;

at::Tensor SequenceRelu(const at::Tensor& x) { return at::relu(x); }

Layer DenseStack(Layers& l) {
  return Chain({l.Linear(32, 64), SequenceRelu, l.Linear(64, 64), SequenceRelu,
                l.Linear(64, 10)});
}

/// Weights of one recurrent layer of `gates` gates over 8 features.
std::vector<at::Tensor> RecurrentWeights(Layers& l, std::int64_t gates) {
  Weights& weights = l.weights();
  return {weights.Parameter("w_ih", {gates * kHidden, 8}),
          weights.Parameter("w_hh", {gates * kHidden, kHidden}),
          weights.Parameter("b_ih", {gates * kHidden}),
          weights.Parameter("b_hh", {gates * kHidden})};
}

Layer Lstm(Layers& l) {
  const std::vector<at::Tensor> weights = RecurrentWeights(l, 4);
  const at::Tensor state =
      l.weights().Buffer("state", at::zeros({1, 2, kHidden}));
  const bool training = l.weights().training();
  const Layer head = l.Linear(kHidden, 10);
  return [=](const at::Tensor& x) {
    at::Tensor y = std::get<0>(at::lstm(x, {state, state}, weights, true, 1,
                                        0.0, training, false, true));
    return head(y.select(1, 5));
  };
}

Layer Gru(Layers& l) {
  const std::vector<at::Tensor> weights = RecurrentWeights(l, 3);
  const at::Tensor state =
      l.weights().Buffer("state", at::zeros({1, 2, kHidden}));
  const bool training = l.weights().training();
  const Layer head = l.Linear(kHidden, 10);
  return [=](const at::Tensor& x) {
    at::Tensor y = std::get<0>(
        at::gru(x, state, weights, true, 1, 0.0, training, false, true));
    return head(y.select(1, 5));
  };
}

Layer Autoencoder(Layers& l) {
  return Chain(
      {l.Conv(2, 8, {5}, {.stride = {2}, .padding = {2}, .bias = true}),
       SequenceRelu, l.Conv(8, 16, {5}, {.stride = {2}, .padding = {2}}),
       l.BatchNorm(16), SequenceRelu,
       [](const at::Tensor& x) { return at::upsample_nearest1d(x, {64}); },
       l.Conv(16, 2, {5}, {.padding = {2}, .bias = true})});
}

Layer WaveNet(Layers& l) {
  const Layer stem = l.Conv(1, 8, {1}, {.bias = true});
  std::vector<std::pair<Layer, Layer>> blocks;
  for (const std::int64_t dilation : {1, 2, 4}) {
    blocks.emplace_back(
        l.Conv(8, 16, {3},
               {.padding = {dilation}, .dilation = {dilation}, .bias = true}),
        l.Conv(8, 8, {1}, {.bias = true}));
  }
  const Layer head = l.Conv(8, 4, {1}, {.bias = true});
  return [=](const at::Tensor& x) {
    at::Tensor y = stem(x);
    at::Tensor skips;
    for (const auto& [dilated, mix] : blocks) {
      const std::vector<at::Tensor> halves = at::chunk(dilated(y), 2, 1);
      const at::Tensor z =
          mix(at::mul(at::tanh(halves[0]), at::sigmoid(halves[1])));
      skips = skips.defined() ? at::add(skips, z) : z;
      y = at::add(y, z);
    }
    return head(at::relu(skips));
  };
}

}  // namespace

std::vector<NamedNetwork> SequenceNetworks() {
  const BoundInput vector{"x", {DType::kF32, {2, 32}}};
  const BoundInput sequence{"x", {DType::kF32, {2, 6, 8}}};
  const BoundInput stereo{"x", {DType::kF32, {2, 2, 64}}};
  const BoundInput mono{"x", {DType::kF32, {2, 1, 64}}};
  return {
      {"mlp", {vector}, Simple(DenseStack)},
      {"lstm", {sequence}, Simple(Lstm)},
      {"gru", {sequence}, Simple(Gru)},
      {"autoencoder_1d", {stereo}, Simple(Autoencoder)},
      {"wavenet", {mono}, Simple(WaveNet)},
  };
}

}  // namespace foretell::program_test
