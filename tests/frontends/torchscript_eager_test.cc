// What eager code would call and count, where the file says more or less.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "tests/frontends/script_file.h"
#include "tests/program/trace_queries.h"

namespace foretell::torchscript {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Targets = std::vector<std::string>;

/// What `expression` of x f32[4,6,8] calls.
Targets CallsOf(const std::string& expression) {
  return TargetsOf(
      SavedModule(Script("def forward(self, x):\n    return " + expression))
          .Run({"x=f32[4,6,8]"})
          .graph);
}

/// TorchDispatchMode under PyTorch 2.13 says the same of each in Python.
TEST(EagerCalls, IndicesLeaveWholeSlicesOut) {
  EXPECT_THAT(CallsOf("x[:, 0]"), ElementsAre("select"));
  EXPECT_THAT(CallsOf("x[0, :]"), ElementsAre("select"));
  EXPECT_THAT(CallsOf("x[:, :, None]"), ElementsAre("unsqueeze"));
  EXPECT_THAT(CallsOf("x[..., 1:]"), ElementsAre("slice"));
  EXPECT_THAT(CallsOf("x[:, ::2]"), ElementsAre("slice"));
  EXPECT_THAT(CallsOf("x[:, -9:]"), ElementsAre("slice"));
  EXPECT_THAT(CallsOf("x[:, :5]"), ElementsAre("slice"));
  EXPECT_THAT(CallsOf("x[:3, :, 0]"), ElementsAre("slice", "select"));
}

TEST(EagerCalls, AnIndexThatTakesAllIsAnAlias) {
  EXPECT_THAT(CallsOf("x[:, :]"), ElementsAre("alias"));
  EXPECT_THAT(CallsOf("x[:, :6]"), ElementsAre("alias"));
  EXPECT_THAT(CallsOf("x[:, 0:x.size(1)]"), ElementsAre("alias"));
}

TEST(EagerCalls, ASliceThatIsTheWholeIndexStays) {
  EXPECT_THAT(CallsOf("x[:]"), ElementsAre("slice"));
  EXPECT_THAT(CallsOf("x[:9]"), ElementsAre("slice"));
}

TEST(EagerCalls, OnlyWhatIsNotContiguousIsMadeSo) {
  EXPECT_THAT(CallsOf("x.contiguous()"), IsEmpty());
  EXPECT_THAT(CallsOf("x.transpose(0, 1).contiguous()"),
              ElementsAre("transpose", "contiguous"));
}

TEST(EagerCalls, LeftOutSlicesHaveNoGradient) {
  torch::jit::Module module("Net");
  module.register_parameter("w", at::ones({4, 6}).set_requires_grad(true),
                            false);
  module.define("def forward(self, x):\n    return x * self.w[:, 0]\n");
  const Trace trace =
      SavedModule(module).Run({"x=f32[4]"}, {.run = {.mode = Mode::kTraining}});
  EXPECT_THAT(TargetsOf(trace.graph, Phase::kBackward),
              Contains("select_backward"));
  EXPECT_THAT(TargetsOf(trace.graph, Phase::kBackward),
              Not(Contains("slice_backward")));
}

struct FlagsOfTrace {
  std::int64_t norm = -1;
  std::int64_t dropout = -1;
  double attention = -1.0;
  bool counts_batches = false;

  bool operator==(const FlagsOfTrace&) const = default;
};

std::ostream& operator<<(std::ostream& out, const FlagsOfTrace& flags) {
  return out << "norm " << flags.norm << ", dropout " << flags.dropout
             << ", attention " << flags.attention << ", counts "
             << flags.counts_batches;
}

/// What the layers of a forward pass were told.
FlagsOfTrace FlagsIn(const Trace& trace) {
  FlagsOfTrace flags;
  for (const Node& node : trace.graph.nodes()) {
    if (node.phase != Phase::kForward) continue;
    if (node.target == "batch_norm") flags.norm = node.Int("training", -1);
    if (node.target == "dropout") flags.dropout = node.Int("train", -1);
    if (node.target == "add_") flags.counts_batches = true;
    if (const Attribute* const p = node.FindAttribute("dropout_p")) {
      flags.attention = std::get<double>(*p);
    }
  }
  return flags;
}

/// Batch norm, dropout and attention. As torch.jit.trace writes them, what they
/// are told is constant; in a script it may be `self.training`.
torch::jit::Module Layers(const std::string& trains, const std::string& p) {
  torch::jit::Module module("Net");
  if (!module.hasattr("training")) {
    module.register_attribute("training", c10::BoolType::get(), true);
  }
  const auto weight = [](const at::Tensor& values) {
    return values.clone().set_requires_grad(true);
  };
  module.register_parameter("scale", weight(at::ones({8})), false);
  module.register_parameter("shift", weight(at::zeros({8})), false);
  module.register_buffer("running_mean", at::zeros({8}));
  module.register_buffer("running_var", at::ones({8}));
  module.register_buffer("num_batches_tracked", at::zeros({}, at::kLong));
  std::string code = "def forward(self, x):\n";
  if (trains == "True") code += "    n = self.num_batches_tracked.add_(1)\n";
  code += fmt::format(R"(
    y = torch.batch_norm(x, self.scale, self.shift, self.running_mean,
                         self.running_var, {0}, 0.1, 1e-5, True)
    y = torch.dropout(y, 0.5, {0})
    return torch.scaled_dot_product_attention(y, y, y, None, {1})
)",
                      trains, p);
  module.define(code);
  return module;
}

constexpr FlagsOfTrace kAllTrain{1, 1, 0.1, true};
constexpr FlagsOfTrace kNoneTrains{0, 0, 0.0, false};

Trace RunLayers(const torch::jit::Module& module, Mode mode) {
  return SavedModule(module).Run({"x=f32[4,8,6]"}, {.run = {.mode = mode}});
}

TEST(MadeMode, OfATraceMadeInTrainFollowsTheRun) {
  const torch::jit::Module traced = Layers("True", "0.1");
  const Trace same = RunLayers(traced, Mode::kTraining);
  EXPECT_EQ(FlagsIn(same), kAllTrain);
  EXPECT_THAT(same.warnings, Not(Contains(HasSubstr("traced in"))));
  const Trace other = RunLayers(traced, Mode::kInference);
  EXPECT_EQ(FlagsIn(other), kNoneTrains);
  EXPECT_THAT(other.warnings, Contains(HasSubstr("was traced in train()")));
}

TEST(MadeMode, OfATraceMadeInEvalFollowsTheRun) {
  const torch::jit::Module traced = Layers("False", "0.0");
  const Trace same = RunLayers(traced, Mode::kInference);
  EXPECT_EQ(FlagsIn(same), kNoneTrains);
  EXPECT_THAT(same.warnings, IsEmpty());
  const Trace other = RunLayers(traced, Mode::kTraining);
  EXPECT_EQ(FlagsIn(other), (FlagsOfTrace{1, 1, 0.0, true}));
  EXPECT_THAT(other.warnings, Contains(HasSubstr("was traced in eval()")));
}

TEST(MadeMode, OneProgramRunsInBothModes) {
  const SavedModule saved(Layers("False", "0.0"));
  const Program program = saved.Load();
  const std::vector<BoundInput> inputs = {ParseInput("x=f32[4,8,6]")};
  TraceProgram(program, inputs, {.run = {.mode = Mode::kTraining}});
  EXPECT_EQ(FlagsIn(TraceProgram(program, inputs)), kNoneTrains);
}

TEST(MadeMode, OfAScriptIsItsModules) {
  const torch::jit::Module asks = Layers("self.training", "0.0");
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    const Trace trace = RunLayers(asks, mode);
    EXPECT_EQ(FlagsIn(trace).norm, mode == Mode::kTraining ? 1 : 0);
    EXPECT_THAT(trace.warnings, Not(Contains(HasSubstr("traced in"))));
  }
}

TEST(MadeMode, AConstantOfAScriptIsMeant) {
  torch::jit::Module module = Layers("self.training", "0.0");
  module.define(
      "def extra(self, x):\n    return torch.dropout(x, 0.5, True)\n");
  module.define("def both(self, x):\n    return self.extra(self.forward(x))\n");
  const Trace trace = RunLayers(module, Mode::kInference);
  EXPECT_THAT(trace.warnings, Not(Contains(HasSubstr("traced in"))));
}

TEST(MadeMode, ANormWithoutStatisticsTakesTheBatchInBothModes) {
  const torch::jit::Module module = Script(
      "def forward(self, x):\n"
      "    return torch.batch_norm(x, None, None, None, None, True, 0.0, 1e-5,"
      " True)");
  const Trace trace = SavedModule(module).Run({"x=f32[4,8]"});
  EXPECT_EQ(FlagsIn(trace).norm, 1);
  EXPECT_THAT(trace.warnings, IsEmpty());
}

/// Batch norm and a linear layer of 8 * 5 weights, frozen.
torch::jit::Module FrozenNet() {
  torch::jit::Module module("Net");
  if (!module.hasattr("training")) {
    module.register_attribute("training", c10::BoolType::get(), true);
  }
  const auto vector = [](double value) {
    return at::full({8}, value).set_requires_grad(true);
  };
  module.register_parameter("scale", vector(1.0), false);
  module.register_parameter("shift", vector(2.0), false);
  module.register_buffer("mean", at::full({8}, 3.0));
  module.register_buffer("var", at::full({8}, 4.0));
  module.register_parameter("w", at::randn({5, 8}).set_requires_grad(true),
                            false);
  module.define(R"(
def forward(self, x):
    y = torch.batch_norm(x, self.scale, self.shift, self.mean, self.var,
                         self.training, 0.1, 1e-5, True)
    return torch.linear(y, self.w), torch.linear(y * 2.0, self.w)
)");
  module.eval();
  return torch::jit::freeze(module, std::nullopt, /*optimize_numerics=*/false);
}

TEST(Frozen, WeightsAreParametersThatNothingTrains) {
  const SavedModule saved(FrozenNet());
  const Program program = saved.Load();
  constexpr std::int64_t kElements = 8 + 8 + 5 * 8;
  EXPECT_EQ(program.parameter_elements(), kElements);
  EXPECT_EQ(program.weight_elements().at(DType::kF32), kElements);
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    const Trace trace = TraceProgram(program, {ParseInput("x=f32[4,8]")},
                                     {.run = {.mode = mode}});
    EXPECT_EQ(FlagsIn(trace).norm, 0);
    EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter), kElements * 4);
    EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kBuffer), 2 * 8 * 4);
    const bool trains = mode == Mode::kTraining;
    EXPECT_EQ(trace.warnings.empty(), !trains);
    if (!trains) continue;
    EXPECT_THAT(trace.warnings, Contains(HasSubstr("is frozen")));
    EXPECT_THAT(trace.warnings, Contains(HasSubstr("nothing is trained")));
  }
}

}  // namespace
}  // namespace foretell::torchscript
