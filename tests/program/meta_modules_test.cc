// Whole modules in training mode on the meta device: forward pass, backward
// pass and optimizer step, and the bytes that they keep, against the CPU.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <vector>

#include "src/program/meta/meta_kernels.h"
#include "tests/program/meta_memory.h"

namespace foretell::meta_test {
namespace {

namespace nn = torch::nn;

// Turns every parameter and buffer into a meta tensor, in place: modules hold
// handles of their own beside those that Module::parameters lists.
void MoveToMeta(nn::Module& module) {
  const auto move = [](const torch::Tensor& tensor) {
    const torch::Tensor meta =
        torch::empty_strided(tensor.sizes(), tensor.strides(),
                             tensor.options().device(torch::kMeta));
    tensor.unsafeGetTensorImpl()->shallow_copy_from(meta.getIntrusivePtr());
  };
  for (const torch::Tensor& parameter : module.parameters()) move(parameter);
  for (const torch::Tensor& buffer : module.buffers()) move(buffer);
}

struct Network {
  std::shared_ptr<nn::Module> module;
  std::function<torch::Tensor(torch::Device)> forward;
};

// What a step leaves behind.
struct Step {
  std::vector<std::int64_t> output;
  std::vector<std::vector<std::int64_t>> gradients = {};
  std::int64_t saved_bytes = 0;  ///< By the forward pass, the result included.
  bool operator==(const Step&) const = default;
};

template <typename Optimizer>
Step RunStep(const Network& network, torch::Device device) {
  const auto live = device.is_cpu() ? LiveCpuBytes : LiveMetaBytes;
  network.module->train();
  Optimizer optimizer(network.module->parameters(), 1e-3);
  const std::int64_t before = live();
  const torch::Tensor out = network.forward(device);
  Step step{.output = out.sizes().vec(), .saved_bytes = live() - before};
  out.square().mean().backward();
  optimizer.step();
  for (const torch::Tensor& parameter : network.module->parameters()) {
    step.gradients.push_back(parameter.grad().defined()
                                 ? parameter.grad().sizes().vec()
                                 : std::vector<std::int64_t>{-1});
  }
  optimizer.zero_grad();
  return step;
}

// The CPU goes first: on meta the weights are gone.
struct Pair {
  Step cpu;
  Step meta;
};

template <typename Optimizer = torch::optim::SGD>
Pair RunBoth(const Network& network) {
  RegisterMetaKernels();
  Pair steps;
  steps.cpu = RunStep<Optimizer>(network, torch::kCPU);
  MoveToMeta(*network.module);
  steps.meta = RunStep<Optimizer>(network, torch::kMeta);
  return steps;
}

void ExpectSameShapes(const Pair& steps) {
  EXPECT_EQ(steps.meta.output, steps.cpu.output);
  EXPECT_EQ(steps.meta.gradients, steps.cpu.gradients);
}

torch::Tensor Image(torch::Device device, at::IntArrayRef sizes) {
  return torch::rand(sizes, torch::TensorOptions().device(device));
}

nn::Sequential ConvolutionBlock(int in, int out) {
  return nn::Sequential(
      nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1).bias(false)),
      nn::BatchNorm2d(out), nn::ReLU(nn::ReLUOptions(true)));
}

struct BottleneckImpl : nn::Module {
  BottleneckImpl() {
    register_module("reduce", reduce);
    register_module("expand", expand);
    register_module("norm", norm);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return torch::relu_(norm(expand(reduce->forward(x))).add_(x));
  }
  nn::Sequential reduce = ConvolutionBlock(16, 4);
  nn::Conv2d expand{nn::Conv2dOptions(4, 16, 1).bias(false)};
  nn::BatchNorm2d norm{16};
};
TORCH_MODULE(Bottleneck);

TEST(MetaModules, TrainAResidualBottleneckWithTheBytesOfTheCpu) {
  nn::Sequential net(
      nn::Conv2d(nn::Conv2dOptions(3, 16, 7).stride(2).padding(3)),
      nn::BatchNorm2d(16), nn::ReLU(nn::ReLUOptions(true)),
      nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)), Bottleneck(),
      Bottleneck(), nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({1, 1})),
      nn::Flatten(), nn::Linear(16, 10));
  const Pair steps =
      RunBoth({net.ptr(), [&](torch::Device device) {
                 return net->forward(Image(device, {2, 3, 32, 32}));
               }});
  ExpectSameShapes(steps);
  EXPECT_EQ(steps.meta.saved_bytes, steps.cpu.saved_bytes);
}

TEST(MetaModules, TrainAPlainNetworkWithTheBytesOfTheCpu) {
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(3, 8, 3).groups(1)),
                     nn::GELU(), nn::GroupNorm(2, 8), nn::SiLU(),
                     nn::AvgPool2d(2), nn::Hardtanh(), nn::ReLU6(), nn::ELU(),
                     nn::LeakyReLU(), nn::Flatten(),
                     nn::LayerNorm(nn::LayerNormOptions({8 * 7 * 7})),
                     nn::Linear(8 * 7 * 7, 10), nn::Softmax(1));
  const Pair steps = RunBoth<torch::optim::AdamW>(
      {net.ptr(), [&](torch::Device device) {
         return net->forward(Image(device, {2, 3, 16, 16}));
       }});
  ExpectSameShapes(steps);
  EXPECT_EQ(steps.meta.saved_bytes, steps.cpu.saved_bytes);
}

struct VitBlockImpl : nn::Module {
  VitBlockImpl() {
    register_module("norm1", norm1);
    register_module("qkv", qkv);
    register_module("proj", proj);
    register_module("norm2", norm2);
    register_module("mlp", mlp);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const auto batch = x.size(0);
    const auto length = x.size(1);
    const std::vector<torch::Tensor> parts =
        qkv(norm1(x))
            .reshape({batch, length, 3, 4, 8})
            .permute({2, 0, 3, 1, 4})
            .unbind(0);
    const torch::Tensor attended =
        torch::scaled_dot_product_attention(parts[0], parts[1], parts[2])
            .transpose(1, 2)
            .reshape({batch, length, 32});
    const torch::Tensor y = x + proj(attended);
    return y + mlp->forward(norm2(y));
  }
  nn::LayerNorm norm1{nn::LayerNormOptions({32})};
  nn::Linear qkv{32, 96};
  nn::Linear proj{32, 32};
  nn::LayerNorm norm2{nn::LayerNormOptions({32})};
  nn::Sequential mlp{nn::Linear(32, 128), nn::GELU(), nn::Dropout(0.1),
                     nn::Linear(128, 32)};
};
TORCH_MODULE(VitBlock);

TEST(MetaModules, TrainAVisionTransformerBlock) {
  nn::Conv2d patches(nn::Conv2dOptions(3, 32, 8).stride(8));
  nn::Sequential net(patches, nn::Flatten(nn::FlattenOptions().start_dim(2)));
  VitBlock block;
  nn::ModuleList all(patches, block);
  const Pair steps = RunBoth<torch::optim::Adam>(
      {all.ptr(), [&](torch::Device device) {
         return block(
             net->forward(Image(device, {2, 3, 32, 32})).transpose(1, 2));
       }});
  ExpectSameShapes(steps);
}

TEST(MetaModules, TrainABertLayerFromWordNumbers) {
  nn::Embedding words(100, 32);
  nn::Embedding places(16, 32);
  nn::TransformerEncoderLayer layer(
      nn::TransformerEncoderLayerOptions(32, 4).dim_feedforward(64).activation(
          torch::kGELU));
  nn::ModuleList all(words, places, layer);
  const Pair steps =
      RunBoth({all.ptr(), [&](torch::Device device) {
                 const auto options =
                     torch::TensorOptions(torch::kLong).device(device);
                 const torch::Tensor x =
                     words(torch::zeros({16, 2}, options)) +
                     places(torch::arange(16, options)).unsqueeze(1);
                 return layer(x);
               }});
  ExpectSameShapes(steps);
}

TEST(MetaModules, TrainATwoLayerBidirectionalLstm) {
  nn::LSTM lstm(
      nn::LSTMOptions(8, 6).num_layers(2).bidirectional(true).batch_first(
          true));
  const Pair steps =
      RunBoth({lstm.ptr(), [&](torch::Device device) {
                 return std::get<0>(lstm(Image(device, {3, 7, 8})));
               }});
  ExpectSameShapes(steps);
}

TEST(MetaModules, TrainAGruWithDropout) {
  nn::GRU gru(nn::GRUOptions(8, 6).num_layers(2).dropout(0.2));
  const Pair steps =
      RunBoth({gru.ptr(), [&](torch::Device device) {
                 return std::get<0>(gru(Image(device, {7, 3, 8})));
               }});
  ExpectSameShapes(steps);
}

TEST(MetaModules, TrainAUNetWithTransposedConvolutions) {
  nn::Sequential down = ConvolutionBlock(3, 8);
  nn::Sequential bottom = ConvolutionBlock(8, 16);
  nn::ConvTranspose2d up(nn::ConvTranspose2dOptions(16, 8, 2).stride(2));
  nn::Sequential head(nn::ReflectionPad2d(1), nn::Conv2d(16, 2, 3),
                      nn::InstanceNorm2d(2), nn::PReLU());
  nn::ModuleList all(down, bottom, up, head);
  const Pair steps =
      RunBoth({all.ptr(), [&](torch::Device device) {
                 const torch::Tensor skip =
                     down->forward(Image(device, {2, 3, 16, 16}));
                 const torch::Tensor deep =
                     bottom->forward(torch::max_pool2d(skip, 2));
                 return head->forward(torch::cat({skip, up(deep)}, 1));
               }});
  ExpectSameShapes(steps);
  EXPECT_EQ(steps.meta.saved_bytes, steps.cpu.saved_bytes);
}

TEST(MetaModules, TrainADetectionTransformer) {
  nn::Sequential backbone = ConvolutionBlock(3, 32);
  nn::Transformer transformer(
      nn::TransformerOptions(32, 4, 1, 1).dim_feedforward(64));
  nn::Embedding queries(5, 32);
  nn::Linear boxes(32, 4);
  nn::ModuleList all(backbone, transformer, queries, boxes);
  const Pair steps = RunBoth(
      {all.ptr(), [&](torch::Device device) {
         const torch::Tensor features =
             backbone->forward(Image(device, {2, 3, 8, 8}))
                 .flatten(2)
                 .permute({2, 0, 1});
         const torch::Tensor target =
             queries(torch::arange(
                         5, torch::TensorOptions(torch::kLong).device(device)))
                 .unsqueeze(1)
                 .expand({5, 2, 32});
         return torch::sigmoid(boxes(transformer(features, target)));
       }});
  ExpectSameShapes(steps);
}

TEST(MetaModules, TrainAVideoNetwork) {
  nn::Sequential net(
      nn::Conv3d(nn::Conv3dOptions(3, 8, 3).padding(1)), nn::BatchNorm3d(8),
      nn::ReLU(), nn::MaxPool3d(2),
      nn::AdaptiveAvgPool3d(nn::AdaptiveAvgPool3dOptions({2, 2, 2})),
      nn::Flatten(), nn::Linear(64, 10), nn::LogSoftmax(1));
  const Pair steps =
      RunBoth({net.ptr(), [&](torch::Device device) {
                 return net->forward(Image(device, {2, 3, 8, 16, 16}));
               }});
  ExpectSameShapes(steps);
  EXPECT_EQ(steps.meta.saved_bytes, steps.cpu.saved_bytes);
}

}  // namespace
}  // namespace foretell::meta_test
