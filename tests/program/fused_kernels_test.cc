// What kernels of other libraries keep and overwrite, in bytes counted by hand
// from Liger's sources.

#include "src/program/fused_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "foretell/error.h"
#include "src/program/liger.h"
#include "tests/program/fake_program.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::FakeProgram;
using program_test::Tensors;
using program_test::Weights;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A training step, and an input of classes in addition.
OperatorGraph TrainFused(const program_test::Network& network,
                         const TrainingLoop& loop = {},
                         TraceDevice device = TraceDevice::kMeta) {
  const std::vector<BoundInput> inputs = {{"x", {DType::kF32, {18, 8}}},
                                          {"classes", {DType::kI64, {18}}}};
  return TraceProgram(
             FakeProgram("net", inputs, network), inputs,
             {.run = {.mode = Mode::kTraining}, .loop = loop, .device = device})
      .graph;
}

const Node& NodeCalled(const OperatorGraph& graph, const std::string& target) {
  const auto node = std::ranges::find(graph.nodes(), target, &Node::target);
  if (node == graph.nodes().end()) throw std::out_of_range(target);
  return *node;
}

StorageId StorageAt(const OperatorGraph& graph, ValueId value) {
  return graph.value(value).storage;
}

/// logits = x W with W [8,40].
program_test::Network Classifier() {
  return [](Weights& weights) {
    const at::Tensor weight = weights.Parameter("weight", {40, 8});
    return [weight](Tensors x) -> Tensors {
      return {at::cross_entropy_loss(at::linear(x[0], weight), x[1])};
    };
  };
}

/// Two layers of 16 inputs and results.
program_test::Network Float8Layers() {
  return [](Weights& weights) {
    const at::Tensor first = weights.Parameter("first", {16, 16});
    const at::Tensor last = weights.Parameter("last", {16, 16});
    return [first, last](Tensors x) -> Tensors {
      return {at::linear(at::linear(x[0], first), last)};
    };
  };
}

OperatorGraph TrainFloat8(const std::string& kernels) {
  const std::vector<BoundInput> inputs = {{"x", {DType::kF32, {32, 16}}}};
  return TraceProgram(
             FakeProgram("net", inputs, Float8Layers()), inputs,
             {.run = {.mode = Mode::kTraining, .precision = Precision::kBf16},
              .loop = {.kernels = kernels}})
      .graph;
}

// A product forward and two backward, of all layers except the last.
TEST(FusedKernels, MultiplyInEightBitsExceptInTheLastLayer) {
  const auto products = [](const std::string& kernels) {
    const std::vector<std::string> targets = TargetsOf(TrainFloat8(kernels));
    return std::ranges::count(targets, "_scaled_mm");
  };
  EXPECT_EQ(products("float8"), 3);
  EXPECT_EQ(products("float8-rowwise"), 3);
  EXPECT_EQ(products("float8-rowwise-gw-hp"), 2);
  EXPECT_EQ(products(""), 0);
}

// What is kept for the backward pass is that of the layer in 16 bits.
TEST(FusedKernels, OfEightBitsKeepTheirOperandsAsTheyAre) {
  const OperatorGraph graph = TrainFloat8("float8");
  EXPECT_EQ(PeakOfRole(graph, TensorRole::kSaved),
            PeakOfRole(TrainFloat8(""), TensorRole::kSaved));
  EXPECT_THROW(TrainFloat8("float8,float8-rowwise"), Error);
}

TEST(FusedKernels, SwiGluKeepsItsOperandsAndOverwritesThem) {
  const OperatorGraph graph = TrainFused([](Weights& weights) {
    const at::Tensor gate = weights.Parameter("gate", {16, 8});
    const at::Tensor up = weights.Parameter("up", {16, 8});
    return [=](Tensors x) -> Tensors {
      return {liger::SwiGlu(at::linear(x[0], gate), at::linear(x[0], up))};
    };
  });
  const Node& forward = NodeCalled(graph, "liger::swiglu");
  const Node& backward = NodeCalled(graph, "liger::swiglu_backward");
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(StorageAt(graph, backward.outputs[i]),
              StorageAt(graph, forward.inputs[i]));
  }
}

TEST(FusedKernels, RmsNormOfAFileKeepsFourBytesPerRow) {
  const program_test::Network network = [](Weights& weights) {
    const at::Tensor scale = weights.Ones("scale", 8);
    const at::Tensor matrix = weights.Parameter("matrix", {8, 8});
    return [=](Tensors x) -> Tensors {
      return {at::rms_norm(at::linear(x[0], matrix), {8}, scale)};
    };
  };
  const OperatorGraph graph = TrainFused(network, {.kernels = "rms-norm"});
  const Node& forward = NodeCalled(graph, "liger::rms_norm");
  EXPECT_EQ(graph.storage(StorageAt(graph, forward.outputs[1])).bytes, 18 * 4);
  const Node& backward = NodeCalled(graph, "liger::rms_norm_backward");
  EXPECT_EQ(StorageAt(graph, backward.outputs[0]),
            StorageAt(graph, backward.inputs[0]));
  EXPECT_EQ(ToString(graph.value(backward.outputs[1]).type), "f32[8]");
  EXPECT_THAT(TargetsOf(TrainFused(network)), Not(Contains("liger::rms_norm")));
}

TEST(FusedKernels, RopeTurnsInPlace) {
  const OperatorGraph graph = TrainFused([](Weights& weights) {
    const at::Tensor matrix = weights.Parameter("matrix", {8, 8});
    return [=](Tensors x) -> Tensors {
      const auto heads = [&] {
        return at::linear(x[0], matrix).view({1, 18, 2, 4}).transpose(1, 2);
      };
      at::Tensor queries = heads();
      at::Tensor keys = heads();
      const at::Tensor table = at::ones({1, 1, 18, 4}, x[0].options());
      liger::Rotate(queries, keys, table, table);
      return {at::mul(queries, keys)};
    };
  });
  const Node& turn = NodeCalled(graph, "liger::rope_");
  std::size_t turned = 0;
  for (const Node& node : graph.nodes()) {
    if (node.target != "linear") continue;
    EXPECT_EQ(StorageAt(graph, turn.outputs.at(turned++)),
              StorageAt(graph, node.outputs[0]));
  }
  EXPECT_EQ(turned, 2);
  const std::vector<std::string> backward = TargetsOf(graph, Phase::kBackward);
  EXPECT_EQ(std::ranges::count(backward, "liger::rope_"), 1);
}

TEST(FusedKernels, CrossEntropyOfAFileOverwritesItsLogits) {
  const OperatorGraph graph =
      TrainFused(Classifier(), {.kernels = "cross-entropy"});
  const Node& loss = NodeCalled(graph, "liger::cross_entropy_");
  EXPECT_EQ(loss.phase, Phase::kForward);
  EXPECT_EQ(StorageAt(graph, loss.outputs[0]),
            StorageAt(graph, loss.inputs[0]));
  EXPECT_THAT(TargetsOf(graph), Not(Contains("cross_entropy_loss")));
  // No other tensor is as large as the logits.
  EXPECT_EQ(std::ranges::count(graph.storages(), 18 * 40 * 4, &Storage::bytes),
            2);
}

/// The most storages of `bytes` that live at once.
std::int64_t MostAlive(const OperatorGraph& graph, std::int64_t bytes) {
  std::int64_t alive = 0;
  std::int64_t most = 0;
  for (const MemoryEvent& event : graph.events()) {
    if (graph.storage(event.storage).bytes != bytes) continue;
    alive += event.kind == MemoryEvent::Kind::kAllocate ? 1 : -1;
    most = std::max(most, alive);
  }
  return most;
}

OperatorGraph TrainHead(bool in_floats, bool is_frozen) {
  return TrainFused([=](Weights& weights) {
    const at::Tensor matrix = weights.Parameter("matrix", {8, 8});
    const at::Tensor head = weights.Parameter("head", {40, 8});
    head.set_requires_grad(!is_frozen);
    return [=](Tensors x) -> Tensors {
      return {liger::LinearCrossEntropy(at::linear(x[0], matrix), head, x[1],
                                        in_floats)};
    };
  });
}

TEST(FusedKernels, AHeadWithItsLossHasLogitsOfSomeRows) {
  // 40 classes are 5 times 8, so 18 rows go by 4: 640 bytes of logits, the last
  // ones alive while the next are computed.
  const OperatorGraph graph = TrainHead(false, false);
  const std::vector<std::string> forward = TargetsOf(graph, Phase::kForward);
  EXPECT_EQ(std::ranges::count(forward, "liger::cross_entropy_"), 5);
  EXPECT_EQ(std::ranges::count(forward, "mm"), 5);
  EXPECT_EQ(MostAlive(graph, 640), 2);
  EXPECT_THAT(TargetsOf(graph, Phase::kBackward), Contains("mm"));
  // The head, its gradient and the product that is added.
  EXPECT_EQ(MostAlive(graph, 40 * 8 * 4), 3);
}

TEST(FusedKernels, TheOlderHeadAddsProductsUp) {
  const std::vector<std::string> forward =
      TargetsOf(TrainHead(true, false), Phase::kForward);
  EXPECT_EQ(std::ranges::count(forward, "addmm_"), 5);
  EXPECT_EQ(std::ranges::count(forward, "mm"), 0);
}

TEST(FusedKernels, AFrozenHeadHasNoGradient) {
  const OperatorGraph graph = TrainHead(false, true);
  EXPECT_EQ(MostAlive(graph, 40 * 8 * 4), 1);
}

TEST(FusedKernels, RefuseWhatTheyCannotDo) {
  const auto message_of = [](const TrainingLoop& loop, TraceDevice device) {
    try {
      TrainFused(Classifier(), loop, device);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const TraceDevice meta = TraceDevice::kMeta;
  EXPECT_THAT(message_of({.kernels = "liger2"}, meta),
              HasSubstr("kernels 'liger2': expected liger, rms-norm"));
  EXPECT_THAT(message_of({.kernels = "chunked-cross-entropy:1"}, meta),
              HasSubstr("expected a number of at least 2"));
  EXPECT_THAT(message_of({.kernels = "cross-entropy"}, TraceDevice::kCpu),
              HasSubstr("not traced on the CPU"));
  EXPECT_THAT(message_of({.kernels = "cross-entropy,swiglu"}, meta),
              HasSubstr("kernels 'swiglu' replace nothing"));
  EXPECT_THAT(message_of({.kernels = "liger",
                          .parallel = {.kind = ParallelKind::kDdp, .gpus = 8}},
                         meta),
              HasSubstr("kernels 'liger' are not predicted with ddp:8"));
}

}  // namespace
}  // namespace foretell
