// Networks of dense convolutions.

#include <utility>

#include "tests/program/layers.h"
#include "tests/program/networks.h"

namespace foretell::program_test {
namespace {

at::Tensor Relu(const at::Tensor& x) { return at::relu(x); }

at::Tensor MaxPool2(const at::Tensor& x) {
  return at::max_pool2d(x, {2, 2}, {2, 2});
}

at::Tensor Flatten(const at::Tensor& x) { return at::flatten(x, 1); }

Layer Vgg(Layers& l) {
  return Chain({l.Conv(3, 8, {3, 3}, {.padding = {1}, .bias = true}), Relu,
                l.Conv(8, 8, {3, 3}, {.padding = {1}, .bias = true}), Relu,
                MaxPool2, l.Conv(8, 16, {3, 3}, {.padding = {1}, .bias = true}),
                Relu, MaxPool2, Flatten, l.Linear(16 * 4 * 4, 32), Relu,
                l.Linear(32, 10)});
}

/// relu(x + body(x)) with the relu in place, as ResNet has it.
Layer ReluOfSum(Layer body, Layer shortcut) {
  return [=](const at::Tensor& x) {
    at::Tensor y = body(x);
    y.add_(shortcut ? shortcut(x) : x);
    return at::relu_(y);
  };
}

Layer BasicBlock(Layers& l, std::int64_t in, std::int64_t out,
                 std::int64_t stride) {
  const Layer body =
      Chain({l.ConvNormRelu(in, out, 3, stride),
             l.Conv(out, out, {3, 3}, {.padding = {1}}), l.BatchNorm(out)});
  if (stride == 1 && in == out) return ReluOfSum(body, nullptr);
  return ReluOfSum(body, Chain({l.Conv(in, out, {1, 1}, {.stride = {stride}}),
                                l.BatchNorm(out)}));
}

Layer Bottleneck(Layers& l, std::int64_t width, std::int64_t inner,
                 std::int64_t groups) {
  return ReluOfSum(Chain({l.ConvNormRelu(width, inner, 1),
                          l.ConvNormRelu(inner, inner, 3, 1, groups),
                          l.Conv(inner, width, {1, 1}), l.BatchNorm(width)}),
                   nullptr);
}

Layer ResNet(Layers& l) {
  return Chain({l.ConvNormRelu(3, 8, 7, 2),
                [](const at::Tensor& x) {
                  return at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
                },
                BasicBlock(l, 8, 8, 1), BasicBlock(l, 8, 16, 2), PoolToVector,
                l.Linear(16, 10)});
}

Layer BottleneckNet(Layers& l, std::int64_t groups) {
  return Chain({l.ConvNormRelu(3, 16, 3, 2), Bottleneck(l, 16, 8, groups),
                Bottleneck(l, 16, 8, groups), PoolToVector, l.Linear(16, 10)});
}

Layer DenseNet(Layers& l) {
  std::vector<Layer> dense;
  std::int64_t width = 8;
  for (int i = 0; i < 3; ++i, width += 4) {
    dense.push_back(Chain({l.BatchNorm(width), Relu,
                           l.Conv(width, 4, {3, 3}, {.padding = {1}})}));
  }
  const Layer stem = l.Conv(3, 8, {3, 3}, {.padding = {1}});
  const Layer head =
      Chain({l.BatchNorm(width), Relu, PoolToVector, l.Linear(width, 10)});
  return [=](const at::Tensor& x) {
    at::Tensor y = stem(x);
    for (const Layer& layer : dense) y = at::cat({y, layer(y)}, 1);
    return head(y);
  };
}

Layer UNet(Layers& l) {
  const Layer down = Chain({l.ConvNormRelu(3, 8, 3), l.ConvNormRelu(8, 8, 3)});
  const Layer middle = l.ConvNormRelu(8, 16, 3);
  const Layer up = l.ConvTranspose2d(16, 8);
  const Layer head =
      Chain({l.ConvNormRelu(16, 8, 3), l.Conv(8, 2, {1, 1}, {.bias = true})});
  return [=](const at::Tensor& x) {
    const at::Tensor skip = down(x);
    at::Tensor y = middle(MaxPool2(skip));
    y = up(y);
    y = at::cat({skip, y}, 1);
    return head(y);
  };
}

Layer Inception(Layers& l) {
  const Layer stem = l.ConvNormRelu(3, 8, 3, 2);
  const std::vector<Layer> branches = {
      l.ConvNormRelu(8, 4, 1),
      Chain({l.ConvNormRelu(8, 4, 1), l.ConvNormRelu(4, 8, 3)}),
      Chain({l.ConvNormRelu(8, 4, 1), l.ConvNormRelu(4, 4, 5)}),
      Chain({[](const at::Tensor& x) {
               return at::avg_pool2d(x, {3, 3}, {1, 1}, {1, 1});
             },
             l.ConvNormRelu(8, 4, 1)})};
  const Layer head = l.Linear(20, 10);
  return [=](const at::Tensor& x) {
    at::Tensor y = stem(x);
    std::vector<at::Tensor> parts;
    for (const Layer& branch : branches) parts.push_back(branch(y));
    y = at::cat(parts, 1);
    parts.clear();
    return head(PoolToVector(y));
  };
}

Layer VideoNet(Layers& l) {
  return Chain({l.Conv(3, 8, {3, 3, 3}, {.padding = {1}}), l.BatchNorm(8), Relu,
                [](const at::Tensor& x) {
                  return at::max_pool3d(x, {2, 2, 2}, {2, 2, 2});
                },
                l.Conv(8, 8, {3, 3, 3}, {.padding = {1}, .bias = true}), Relu,
                [](const at::Tensor& x) {
                  return at::flatten(at::adaptive_avg_pool3d(x, {1, 1, 1}), 1);
                },
                l.Linear(8, 10)});
}

Layer GroupNormNet(Layers& l) {
  return Chain({l.Conv(3, 8, {3, 3}, {.padding = {1}}), l.GroupNorm(4, 8), Relu,
                Residual(Chain({l.Conv(8, 8, {3, 3}, {.padding = {1}}),
                                l.GroupNorm(2, 8), Relu})),
                PoolToVector, l.Linear(8, 10)});
}

}  // namespace

std::vector<NamedNetwork> ConvolutionalNetworks() {
  const BoundInput video{"video", {DType::kF32, {2, 3, 4, 8, 8}}};
  return {
      {"vgg", {Image(2, 3, 16)}, Simple(Vgg)},
      {"resnet_basic", {Image(2, 3, 32)}, Simple(ResNet)},
      {"resnet_bottleneck", {Image(2, 3, 16)}, Simple([](Layers& l) {
         return BottleneckNet(l, 1);
       })},
      {"resnext", {Image(2, 3, 16)}, Simple([](Layers& l) {
         return BottleneckNet(l, 4);
       })},
      {"densenet", {Image(2, 3, 16)}, Simple(DenseNet)},
      {"unet", {Image(2, 3, 16)}, Simple(UNet)},
      {"inception", {Image(2, 3, 16)}, Simple(Inception)},
      {"video_3d", {video}, Simple(VideoNet)},
      {"group_norm", {Image(2, 3, 16)}, Simple(GroupNormNet)},
  };
}

}  // namespace foretell::program_test
