#include "tests/program/layers.h"

#include <utility>

namespace foretell::program_test {

std::string Layers::Name(const std::string& kind) {
  return kind + std::to_string(count_++);
}

Layer Layers::Conv(std::int64_t in, std::int64_t out,
                   std::vector<std::int64_t> kernel, ConvOptions options) {
  const std::string name = Name("conv");
  std::vector<std::int64_t> shape = {out, in / options.groups};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  const at::Tensor weight = weights_.Parameter(name + ".weight", shape);
  const at::Tensor bias =
      options.bias ? weights_.Parameter(name + ".bias", {out}) : at::Tensor();
  const std::size_t rank = kernel.size();
  return [=, o = std::move(options)](const at::Tensor& x) {
    if (rank == 1) {
      return at::conv1d(x, weight, bias, o.stride, o.padding, o.dilation,
                        o.groups);
    }
    if (rank == 2) {
      return at::conv2d(x, weight, bias, o.stride, o.padding, o.dilation,
                        o.groups);
    }
    return at::conv3d(x, weight, bias, o.stride, o.padding, o.dilation,
                      o.groups);
  };
}

Layer Layers::ConvTranspose2d(std::int64_t in, std::int64_t out) {
  const std::string name = Name("up");
  const at::Tensor weight =
      weights_.Parameter(name + ".weight", {in, out, 2, 2});
  const at::Tensor bias = weights_.Parameter(name + ".bias", {out});
  return [=](const at::Tensor& x) {
    return at::conv_transpose2d(x, weight, bias, {2, 2});
  };
}

Layer Layers::BatchNorm(std::int64_t size) {
  const std::string name = Name("bn");
  const at::Tensor weight = weights_.Ones(name + ".weight", size);
  const at::Tensor bias = weights_.Parameter(name + ".bias", {size});
  const at::Tensor mean =
      weights_.Buffer(name + ".running_mean", at::zeros({size}));
  const at::Tensor variance =
      weights_.Buffer(name + ".running_var", at::ones({size}));
  const bool training = weights_.training();
  return [=](const at::Tensor& x) {
    return at::batch_norm(x, weight, bias, mean, variance, training, 0.1, 1e-5,
                          true);
  };
}

Layer Layers::LayerNorm(std::int64_t size) {
  const std::string name = Name("ln");
  const at::Tensor weight = weights_.Ones(name + ".weight", size);
  const at::Tensor bias = weights_.Parameter(name + ".bias", {size});
  return [=](const at::Tensor& x) {
    return at::layer_norm(x, {size}, weight, bias);
  };
}

Layer Layers::GroupNorm(std::int64_t groups, std::int64_t size) {
  const std::string name = Name("gn");
  const at::Tensor weight = weights_.Ones(name + ".weight", size);
  const at::Tensor bias = weights_.Parameter(name + ".bias", {size});
  return [=](const at::Tensor& x) {
    return at::group_norm(x, groups, weight, bias);
  };
}

Layer Layers::Linear(std::int64_t in, std::int64_t out) {
  const std::string name = Name("linear");
  const at::Tensor weight = weights_.Parameter(name + ".weight", {out, in});
  const at::Tensor bias = weights_.Parameter(name + ".bias", {out});
  return [=](const at::Tensor& x) { return at::linear(x, weight, bias); };
}

Layer Layers::Embedding(std::int64_t count, std::int64_t size) {
  const at::Tensor weight =
      weights_.Parameter(Name("embedding") + ".weight", {count, size});
  return [=](const at::Tensor& x) { return at::embedding(weight, x); };
}

Layer Layers::Dropout(double probability) {
  const bool training = weights_.training();
  return [=](const at::Tensor& x) {
    return at::dropout(x, probability, training);
  };
}

Layer Layers::SelfAttention(std::int64_t width, std::int64_t heads,
                            bool causal) {
  const Layer project = Linear(width, 3 * width);
  const Layer out = Linear(width, width);
  return [=](const at::Tensor& x) {
    const std::int64_t batch = x.size(0);
    const std::int64_t tokens = x.size(1);
    at::Tensor qkv = project(x)
                         .reshape({batch, tokens, 3, heads, width / heads})
                         .permute({2, 0, 3, 1, 4});
    at::Tensor y = at::scaled_dot_product_attention(
        qkv.select(0, 0), qkv.select(0, 1), qkv.select(0, 2), {}, 0.0, causal);
    qkv.reset();
    y = y.transpose(1, 2).reshape({batch, tokens, width});
    return out(y);
  };
}

Layer Layers::SqueezeExcite(std::int64_t width, std::int64_t inner) {
  const Layer down = Conv(width, inner, {1, 1}, {.bias = true});
  const Layer up = Conv(inner, width, {1, 1}, {.bias = true});
  return [=](const at::Tensor& x) {
    at::Tensor y = at::adaptive_avg_pool2d(x, {1, 1});
    y = at::relu(down(y));
    y = at::sigmoid(up(y));
    return at::mul(x, y);
  };
}

Layer Layers::ConvNormRelu(std::int64_t in, std::int64_t out,
                           std::int64_t kernel, std::int64_t stride,
                           std::int64_t groups) {
  return Chain(
      {Conv(in, out, {kernel, kernel},
            {.stride = {stride}, .padding = {kernel / 2}, .groups = groups}),
       BatchNorm(out), [](const at::Tensor& x) { return at::relu(x); }});
}

Layer Chain(std::vector<Layer> layers) {
  return [layers = std::move(layers)](const at::Tensor& input) {
    at::Tensor x = input;
    for (const Layer& layer : layers) x = layer(x);
    return x;
  };
}

Layer Residual(Layer layer) {
  return [layer = std::move(layer)](const at::Tensor& x) {
    return at::add(x, layer(x));
  };
}

at::Tensor PoolToVector(const at::Tensor& x) {
  return at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1);
}

Network Simple(std::function<Layer(Layers&)> make) {
  return [make = std::move(make)](Weights& weights) -> Forward {
    Layers layers(weights);
    const Layer layer = make(layers);
    return [layer](Tensors inputs) -> Tensors {
      at::Tensor x = std::move(inputs[0]);
      inputs.clear();
      return {layer(x)};
    };
  };
}

}  // namespace foretell::program_test
