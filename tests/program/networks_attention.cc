// Transformers and what mixes tokens like them.

#include <utility>

#include "tests/program/layers.h"
#include "tests/program/networks.h"

namespace foretell::program_test {
namespace {

constexpr std::int64_t kWidth = 16;
constexpr std::int64_t kHeads = 4;

at::Tensor Gelu(const at::Tensor& x) { return at::gelu(x); }

Layer Mlp(Layers& l, std::int64_t width) {
  return Chain({l.Linear(width, 4 * width), Gelu, l.Linear(4 * width, width)});
}

Layer Block(Layers& l, bool causal) {
  return Chain({Residual(Chain({l.LayerNorm(kWidth),
                                l.SelfAttention(kWidth, kHeads, causal)})),
                Residual(Chain({l.LayerNorm(kWidth), Mlp(l, kWidth)}))});
}

/// [batch, 3, h, w] to [batch, tokens, width].
Layer Patches(Layers& l) {
  const Layer conv = l.Conv(3, kWidth, {4, 4}, {.stride = {4}, .bias = true});
  return
      [=](const at::Tensor& x) { return conv(x).flatten(2).transpose(1, 2); };
}

Layer Vit(Layers& l) {
  const Layer patches = Patches(l);
  const at::Tensor position =
      l.weights().Parameter("position", {1, 16, kWidth});
  const Layer blocks =
      Chain({Block(l, false), Block(l, false), l.LayerNorm(kWidth)});
  const Layer head = l.Linear(kWidth, 10);
  return [=](const at::Tensor& x) {
    at::Tensor y = at::add(patches(x), position);
    y = blocks(y);
    return head(y.select(1, 0));
  };
}

Layer Bert(Layers& l) {
  const Layer words = l.Embedding(50, kWidth);
  const at::Tensor position = l.weights().Parameter("position", {1, 8, kWidth});
  const Layer norm = Chain({l.LayerNorm(kWidth), l.Dropout(0.1)});
  // Norms stand behind the sums.
  const Layer block = Chain({Residual(l.SelfAttention(kWidth, kHeads, false)),
                             l.LayerNorm(kWidth), Residual(Mlp(l, kWidth)),
                             l.LayerNorm(kWidth)});
  const Layer pooler = l.Linear(kWidth, kWidth);
  return [=](const at::Tensor& x) {
    at::Tensor y = norm(at::add(words(x), position));
    y = block(y);
    return at::tanh(pooler(y.select(1, 0)));
  };
}

Layer Gpt(Layers& l) {
  const Layer words = l.Embedding(50, kWidth);
  const Layer blocks = Chain({Block(l, true), Block(l, true),
                              l.LayerNorm(kWidth), l.Linear(kWidth, 50)});
  return Chain({words, blocks});
}

Layer Mixer(Layers& l) {
  const auto swap = [](const at::Tensor& x) { return x.transpose(1, 2); };
  return Chain({Patches(l),
                Residual(Chain({l.LayerNorm(kWidth), swap, Mlp(l, 16), swap})),
                Residual(Chain({l.LayerNorm(kWidth), Mlp(l, kWidth)})),
                l.LayerNorm(kWidth),
                [](const at::Tensor& x) { return at::mean(x, {1}); },
                l.Linear(kWidth, 10)});
}

/// Attention inside 4×4 windows of an 8×8 map, shifted by two.
Layer Swin(Layers& l) {
  const Layer embed = l.Conv(3, kWidth, {4, 4}, {.stride = {4}, .bias = true});
  const Layer norm = l.LayerNorm(kWidth);
  const Layer attention = l.SelfAttention(kWidth, kHeads, false);
  const Layer mlp = Residual(Chain({l.LayerNorm(kWidth), Mlp(l, kWidth)}));
  const Layer head = l.Linear(kWidth, 10);
  return [=](const at::Tensor& x) {
    at::Tensor map = embed(x).permute({0, 2, 3, 1});
    const std::int64_t n = map.size(0);
    at::Tensor y = at::roll(norm(map), {-2, -2}, {1, 2});
    y = y.view({n, 2, 4, 2, 4, kWidth})
            .permute({0, 1, 3, 2, 4, 5})
            .reshape({n * 4, 16, kWidth});
    y = attention(y);
    y = y.view({n, 2, 2, 4, 4, kWidth})
            .permute({0, 1, 3, 2, 4, 5})
            .reshape({n, 8, 8, kWidth});
    y = at::add(map, at::roll(y, {2, 2}, {1, 2}));
    map.reset();
    return head(at::mean(mlp(y), {1, 2}));
  };
}

/// A convolutional stem, and queries that attend to its pixels.
Layer Detr(Layers& l) {
  const Layer stem =
      Chain({l.ConvNormRelu(3, kWidth, 3, 4),
             Residual([](const at::Tensor& x) { return at::relu(x); })});
  const at::Tensor queries = l.weights().Parameter("queries", {5, kWidth});
  const Layer to_query = l.Linear(kWidth, kWidth);
  const Layer to_key = l.Linear(kWidth, kWidth);
  const Layer to_value = l.Linear(kWidth, kWidth);
  const Layer classes = l.Linear(kWidth, 4);
  return [=](const at::Tensor& x) {
    at::Tensor memory = stem(x).flatten(2).transpose(1, 2);
    at::Tensor query = to_query(queries.expand({x.size(0), 5, kWidth}));
    at::Tensor scores = at::matmul(query, to_key(memory).transpose(1, 2));
    scores = at::softmax(at::mul(scores, 0.25), -1);
    at::Tensor y = at::matmul(scores, to_value(memory));
    memory.reset();
    scores.reset();
    return classes(y);
  };
}

}  // namespace

std::vector<NamedNetwork> AttentionNetworks() {
  return {
      {"vit", {Image(2, 3, 16)}, Simple(Vit)},
      {"bert", {Tokens(2, 8)}, Simple(Bert)},
      {"gpt", {Tokens(2, 8)}, Simple(Gpt)},
      {"mlp_mixer", {Image(2, 3, 16)}, Simple(Mixer)},
      {"swin", {Image(2, 3, 32)}, Simple(Swin)},
      {"detr", {Image(2, 3, 16)}, Simple(Detr)},
  };
}

}  // namespace foretell::program_test
