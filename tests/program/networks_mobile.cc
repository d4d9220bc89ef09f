// Networks of depthwise and grouped convolutions.

#include <utility>

#include "tests/program/layers.h"
#include "tests/program/networks.h"

namespace foretell::program_test {
namespace {

at::Tensor Relu6(const at::Tensor& x) { return at::relu6(x); }
at::Tensor Hardswish(const at::Tensor& x) { return at::hardswish(x); }
at::Tensor MobileGelu(const at::Tensor& x) { return at::gelu(x); }

Layer Depthwise(Layers& l, std::int64_t width, std::int64_t kernel,
                std::int64_t stride) {
  return l.Conv(width, width, {kernel, kernel},
                {.stride = {stride}, .padding = {kernel / 2}, .groups = width});
}

Layer MobileNetV2(Layers& l) {
  const auto inverted = [&l](std::int64_t width, std::int64_t inner) {
    return Residual(
        Chain({l.Conv(width, inner, {1, 1}), l.BatchNorm(inner), Relu6,
               Depthwise(l, inner, 3, 1), l.BatchNorm(inner), Relu6,
               l.Conv(inner, width, {1, 1}), l.BatchNorm(width)}));
  };
  return Chain({l.Conv(3, 8, {3, 3}, {.stride = {2}, .padding = {1}}),
                l.BatchNorm(8), Relu6, inverted(8, 24), inverted(8, 24),
                PoolToVector, l.Dropout(0.2), l.Linear(8, 10)});
}

Layer MobileNetV3(Layers& l) {
  return Chain(
      {l.Conv(3, 8, {3, 3}, {.stride = {2}, .padding = {1}}), l.BatchNorm(8),
       Hardswish,
       Residual(Chain({l.Conv(8, 16, {1, 1}), l.BatchNorm(16), Hardswish,
                       Depthwise(l, 16, 5, 1), l.BatchNorm(16),
                       l.SqueezeExcite(16, 4), Hardswish, l.Conv(16, 8, {1, 1}),
                       l.BatchNorm(8)})),
       PoolToVector, l.Linear(8, 10)});
}

Layer ShuffleNet(Layers& l) {
  const Layer stem = l.ConvNormRelu(3, 8, 3, 2);
  const Layer branch = Chain({l.ConvNormRelu(4, 4, 1), Depthwise(l, 4, 3, 1),
                              l.BatchNorm(4), l.ConvNormRelu(4, 4, 1)});
  const Layer head = l.Linear(8, 10);
  return [=](const at::Tensor& x) {
    const at::Tensor y = stem(x);
    const std::vector<at::Tensor> halves = at::chunk(y, 2, 1);
    at::Tensor z = at::cat({halves[0], branch(halves[1])}, 1);
    z = z.view({z.size(0), 2, 4, z.size(2), z.size(3)})
            .transpose(1, 2)
            .reshape({z.size(0), 8, z.size(2), z.size(3)});
    return head(PoolToVector(z));
  };
}

Layer RegNet(Layers& l) {
  return Chain(
      {l.ConvNormRelu(3, 16, 3, 2),
       Residual(Chain({l.ConvNormRelu(16, 16, 1),
                       l.ConvNormRelu(16, 16, 3, 1, 4), l.SqueezeExcite(16, 4),
                       l.Conv(16, 16, {1, 1}), l.BatchNorm(16)})),
       PoolToVector, l.Linear(16, 10)});
}

Layer ConvNext(Layers& l) {
  const auto channels_last = [](const at::Tensor& x) {
    return x.permute({0, 2, 3, 1});
  };
  const auto channels_first = [](const at::Tensor& x) {
    return x.permute({0, 3, 1, 2});
  };
  return Chain({l.Conv(3, 8, {4, 4}, {.stride = {4}, .bias = true}),
                Residual(Chain({Depthwise(l, 8, 7, 1), channels_last,
                                l.LayerNorm(8), l.Linear(8, 32), MobileGelu,
                                l.Linear(32, 8), channels_first})),
                PoolToVector, l.Linear(8, 10)});
}

Layer PoolFormer(Layers& l) {
  const auto mix = [](const at::Tensor& x) {
    return at::sub(at::avg_pool2d(x, {3, 3}, {1, 1}, {1, 1}, false, false), x);
  };
  return Chain({l.Conv(3, 8, {4, 4}, {.stride = {4}, .bias = true}),
                Residual(Chain({l.GroupNorm(1, 8), mix})),
                Residual(Chain({l.GroupNorm(1, 8), l.Conv(8, 32, {1, 1}),
                                MobileGelu, l.Conv(32, 8, {1, 1})})),
                PoolToVector, l.Linear(8, 10)});
}

}  // namespace

std::vector<NamedNetwork> MobileNetworks() {
  return {
      {"mobilenet_v2", {Image(2, 3, 16)}, Simple(MobileNetV2)},
      {"mobilenet_v3", {Image(2, 3, 16)}, Simple(MobileNetV3)},
      {"shufflenet", {Image(2, 3, 16)}, Simple(ShuffleNet)},
      {"regnet_se", {Image(2, 3, 16)}, Simple(RegNet)},
      {"convnext", {Image(2, 3, 32)}, Simple(ConvNext)},
      {"poolformer", {Image(2, 3, 32)}, Simple(PoolFormer)},
  };
}

}  // namespace foretell::program_test
