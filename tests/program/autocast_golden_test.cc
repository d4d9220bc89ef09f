// A trace under autocast against PyTorch's own wrappers: the operators and the
// network of scripts/generate/make_autocast_golden.py.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "foretell/trace.h"
#include "tests/program/fake_program.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::FakeProgram;
using program_test::Tensors;
using program_test::Weights;

constexpr DType kH = DType::kF16;
constexpr DType kS = DType::kF32;
constexpr DType kI = DType::kI64;

struct Operator {
  std::string name;
  at::Tensor (*run)(const Tensors& inputs);
  std::vector<TensorType> inputs;
};

/// As OPERATORS in the script.
std::vector<Operator> Operators() {
  using T = const Tensors&;
  return {
      {"add", [](T t) { return t[0] + t[1]; }, {{kH, {4, 8}}, {kS, {4, 8}}}},
      {"addcmul",
       [](T t) { return at::addcmul(t[0], t[1], t[2]); },
       {{kH, {4, 8}}, {kS, {4, 8}}, {kH, {4, 8}}}},
      {"addmm",
       [](T t) { return at::addmm(t[0], t[1], t[2]); },
       {{kS, {8}}, {kH, {4, 6}}, {kS, {6, 8}}}},
      {"baddbmm",
       [](T t) { return at::baddbmm(t[0], t[1], t[2]); },
       {{kS, {2, 4, 8}}, {kS, {2, 4, 6}}, {kS, {2, 6, 8}}}},
      {"batch_norm",
       [](T t) {
         return at::batch_norm(t[0], t[1], t[2], t[3], t[4], false, 0.1, 1e-5,
                               true);
       },
       {{kH, {2, 8, 4, 4}}, {kS, {8}}, {kS, {8}}, {kS, {8}}, {kS, {8}}}},
      {"bmm",
       [](T t) { return at::bmm(t[0], t[1]); },
       {{kS, {2, 4, 6}}, {kH, {2, 6, 8}}}},
      {"cat",
       [](T t) {
         return at::cat({t[0], t[1]});
       },
       {{kH, {4, 8}}, {kS, {4, 8}}}},
      {"conv2d",
       [](T t) { return at::conv2d(t[0], t[1], t[2]); },
       {{kS, {2, 3, 8, 8}}, {kS, {4, 3, 3, 3}}, {kS, {4}}}},
      {"conv_transpose2d",
       [](T t) { return at::conv_transpose2d(t[0], t[1]); },
       {{kS, {2, 3, 8, 8}}, {kS, {3, 4, 2, 2}}}},
      {"cosine_similarity",
       [](T t) { return at::cosine_similarity(t[0], t[1]); },
       {{kH, {4, 8}}, {kH, {4, 8}}}},
      {"cross_entropy",
       [](T t) { return at::cross_entropy_loss(t[0], t[1]); },
       {{kH, {4, 8}}, {kI, {4}}}},
      {"cumsum", [](T t) { return at::cumsum(t[0], 1); }, {{kH, {4, 8}}}},
      {"div", [](T t) { return t[0] / t[1]; }, {{kH, {4, 8}}, {kH, {4, 8}}}},
      {"einsum",
       [](T t) {
         return at::einsum("ij,jk->ik", {t[0], t[1]});
       },
       {{kS, {4, 6}}, {kH, {6, 8}}}},
      {"embedding",
       [](T t) { return at::embedding(t[0], t[1]); },
       {{kS, {16, 8}}, {kI, {4}}}},
      {"exp", [](T t) { return at::exp(t[0]); }, {{kH, {4, 8}}}},
      {"gelu", [](T t) { return at::gelu(t[0]); }, {{kH, {4, 8}}}},
      {"group_norm",
       [](T t) { return at::group_norm(t[0], 2, t[1], t[2]); },
       {{kH, {2, 8, 4, 4}}, {kS, {8}}, {kS, {8}}}},
      {"instance_norm",
       [](T t) {
         return at::instance_norm(t[0], t[1], t[2], {}, {}, true, 0.1, 1e-5,
                                  true);
       },
       {{kH, {2, 8, 4, 4}}, {kS, {8}}, {kS, {8}}}},
      {"interpolate",
       [](T t) {
         return at::upsample_nearest2d(t[0], at::OptionalIntArrayRef({8, 8}),
                                       std::nullopt);
       },
       {{kH, {1, 2, 4, 4}}}},
      {"layer_norm",
       [](T t) { return at::layer_norm(t[0], {8}, t[1], t[2]); },
       {{kH, {4, 8}}, {kS, {8}}, {kS, {8}}}},
      {"linear",
       [](T t) { return at::linear(t[0], t[1], t[2]); },
       {{kS, {4, 16}}, {kS, {8, 16}}, {kS, {8}}}},
      {"log_softmax",
       [](T t) { return at::log_softmax(t[0], -1); },
       {{kH, {4, 8}}}},
      {"matmul",
       [](T t) { return at::matmul(t[0], t[1]); },
       {{kS, {2, 4, 6}}, {kS, {6, 8}}}},
      {"max_pool2d",
       [](T t) {
         return at::max_pool2d(t[0], {2, 2});
       },
       {{kH, {1, 2, 4, 4}}}},
      {"mean", [](T t) { return at::mean(t[0]); }, {{kH, {4, 8}}}},
      {"mse_loss",
       [](T t) { return at::mse_loss(t[0], t[1]); },
       {{kH, {4, 8}}, {kS, {4, 8}}}},
      {"norm", [](T t) { return at::norm(t[0]); }, {{kH, {4, 8}}}},
      {"pow", [](T t) { return at::pow(t[0], 2); }, {{kH, {4, 8}}}},
      {"prelu",
       [](T t) { return at::prelu(t[0], t[1]); },
       {{kS, {4, 8}}, {kS, {8}}}},
      {"relu", [](T t) { return at::relu(t[0]); }, {{kH, {4, 8}}}},
      {"scatter_add",
       [](T t) { return at::scatter_add(t[0], 0, t[1], t[2]); },
       {{kS, {4, 8}}, {kI, {4, 8}}, {kH, {4, 8}}}},
      {"softmax", [](T t) { return at::softmax(t[0], -1); }, {{kH, {4, 8}}}},
      {"softplus", [](T t) { return at::softplus(t[0]); }, {{kH, {4, 8}}}},
      {"sum", [](T t) { return at::sum(t[0], 1); }, {{kH, {4, 8}}}},
      {"upsample_bilinear2d",
       [](T t) {
         return at::upsample_bilinear2d(t[0], at::IntArrayRef({8, 8}), false);
       },
       {{kH, {1, 2, 4, 4}}}},
  };
}

/// Operators that autocast reaches inside: their casts are no nodes.
const std::set<std::string> kComposites = {"cross_entropy", "interpolate"};

std::vector<std::string> LinesOf(const std::string& file) {
  const std::string path = FORETELL_SOURCE_DIR "/tests/golden/autocast/" + file;
  std::ifstream stream(path);
  EXPECT_TRUE(stream) << path << " is missing";
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// "f32[4,16]>f16"
std::string CastText(const OperatorGraph& graph, const Node& node) {
  return ToString(graph.value(node.inputs.front()).type) + ">" +
         std::string(DTypeName(graph.value(node.outputs.front()).type.dtype));
}

bool IsCast(const Node& node) { return node.Int(kAutocastAttribute, 0) != 0; }

std::string LineOf(const Operator& op) {
  std::vector<BoundInput> inputs;
  for (const TensorType& type : op.inputs) {
    inputs.push_back({"x" + std::to_string(inputs.size()), type});
  }
  const auto network = [&op](Weights&) {
    return [&op](const Tensors& t) -> Tensors { return {op.run(t)}; };
  };
  const Trace trace = TraceProgram(FakeProgram(op.name, inputs, network),
                                   inputs, {.run = {.autocast = true}});
  std::vector<std::string> casts;
  for (const Node& node : trace.graph.nodes()) {
    if (IsCast(node)) casts.push_back(CastText(trace.graph, node));
  }
  std::ranges::sort(casts);
  std::string line =
      op.name + ": " + std::string(DTypeName(trace.outputs.front().type.dtype));
  for (const std::string& cast : casts) line += " " + cast;
  return line;
}

TEST(AutocastGolden, OperatorsCastAsPyTorchDoesOnCuda) {
  const std::vector<std::string> golden = LinesOf("operators.txt");
  const std::vector<Operator> operators = Operators();
  ASSERT_EQ(golden.size(), operators.size());
  for (std::size_t i = 0; i < golden.size(); ++i) {
    const bool inside = kComposites.contains(operators[i].name);
    EXPECT_EQ(LineOf(operators[i]),
              inside ? golden[i].substr(0, golden[i].rfind(' ')) : golden[i]);
  }
}

/// As lifetimes() in the script.
program_test::Forward Network(Weights& weights) {
  const at::Tensor w0 = weights.Parameter("w0", {8, 16});
  const at::Tensor b0 = weights.Parameter("b0", {8});
  const at::Tensor w1 = weights.Parameter("w1", {6, 8});
  const at::Tensor w2 = weights.Parameter("w2", {6, 6});
  const at::Tensor w3 = weights.Parameter("w3", {36});
  const at::Tensor frozen = weights.Buffer("frozen", at::zeros({4, 6}));
  return [=](const Tensors& inputs) -> Tensors {
    at::Tensor h = at::relu(at::linear(inputs[0], w0, b0));
    h = at::linear(h, w1);
    h = at::linear(at::linear(h, w2), w2);
    h = at::linear(h, w3.view({6, 6}));
    h = at::linear(at::linear(h, w3.view({6, 6})), frozen);
    return {h, at::mean(h)};
  };
}

std::string EndOf(const OperatorGraph& graph, ValueId cast) {
  const NodeId death = DeathOf(graph, cast);
  if (graph.node(death).phase != Phase::kForward) return "backward";
  const bool is_last = death + 1 == std::ssize(graph.nodes()) ||
                       graph.node(death + 1).phase != Phase::kForward;
  return is_last ? "region" : "operator";
}

class AutocastLifetimes : public testing::TestWithParam<Mode> {};

TEST_P(AutocastLifetimes, AreThoseOfPyTorch) {
  const std::vector<BoundInput> inputs = {{"x", {kS, {4, 16}}}};
  const Trace trace = TraceProgram(FakeProgram("net", inputs, &Network), inputs,
                                   {.run = {.mode = GetParam(),
                                            .precision = Precision::kBf16,
                                            .autocast = true}});
  std::vector<std::string> lines;
  for (const Node& node : trace.graph.nodes()) {
    if (!IsCast(node)) continue;
    const Value& source = trace.graph.value(node.inputs.front());
    lines.push_back((source.producer == kNone ? source.name : "view") + " " +
                    CastText(trace.graph, node) + " " +
                    EndOf(trace.graph, node.outputs.front()));
  }
  std::ranges::sort(lines);
  EXPECT_EQ(lines, LinesOf(std::string(ModeName(GetParam())) + ".txt"));
}

INSTANTIATE_TEST_SUITE_P(Modes, AutocastLifetimes,
                         testing::Values(Mode::kInference, Mode::kTraining),
                         [](const auto& test) {
                           return std::string(ModeName(test.param));
                         });

}  // namespace
}  // namespace foretell
