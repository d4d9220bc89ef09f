#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/torchscript/archive.h"
#include "tests/frontends/script_file.h"
#include "tests/graph/expect_error.h"
#include "tests/program/trace_queries.h"

namespace foretell::torchscript {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

at::Tensor Random(at::IntArrayRef shape) {
  return at::randn(shape).set_requires_grad(true);
}

/// conv(3→8), batch norm, relu, pooling, linear(8→4), as scripting spells it.
torch::jit::Module SmallNet() {
  torch::jit::Module net("Net");
  net.register_parameter("w", Random({8, 3, 3, 3}), false);
  net.register_parameter("scale", Random({8}), false);
  net.register_parameter("shift", Random({8}), false);
  net.register_buffer("mean", Random({8}));
  net.register_buffer("var", at::ones({8}));
  net.register_parameter("fc", Random({4, 8}), false);
  if (!net.hasattr("training")) {
    net.register_attribute("training", c10::BoolType::get(), true);
  }
  net.define(R"(
def forward(self, x):
    y = torch.conv2d(x, self.w, None, [1, 1], [1, 1])
    y = torch.batch_norm(y, self.scale, self.shift, self.mean, self.var,
                         self.training, 0.1, 1e-5, True)
    y = torch.relu(y)
    y = torch.dropout(y, 0.5, self.training)
    y = torch.flatten(torch.adaptive_avg_pool2d(y, [1, 1]), 1)
    return torch.linear(y, self.fc)
)");
  return net;
}

constexpr std::int64_t kSmallNetElements = 8 * 3 * 3 * 3 + 8 + 8 + 4 * 8;

TEST(TorchScript, TakesNumbersOfATraceForNumbers) {
  // What a tracer makes of arange(4) * 0.5, which is of the default type.
  torch::jit::Module module = Script(
      "def forward(self, x):\n"
      "    return torch.arange(4) * x");
  const auto graph =
      torch::jit::toGraphFunction(module.get_method("forward").function())
          .graph();
  for (torch::jit::Node* node : graph->nodes()) {
    if (node->kind() != c10::aten::mul) continue;
    const torch::jit::WithInsertPoint at(node);
    node->replaceInput(1,
                       graph->insertConstant(torch::tensor(0.5, at::kDouble)));
  }
  const Trace trace = SavedModule(module).Run({"x=f32[4]"});
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "f32[4]");
}

TEST(TorchScript, SaysWhereNothingIsTrained) {
  for (const bool trainable : {true, false}) {
    torch::jit::Module module("Net");
    module.register_parameter("w",
                              torch::ones({4}).set_requires_grad(trainable),
                              /*is_buffer=*/false);
    module.define(
        "def forward(self, x):\n"
        "    return (x * self.w).detach()\n");
    EXPECT_THAT(
        SavedModule(module)
            .Run({"x=f32[4]"}, {.run = {.mode = Mode::kTraining}})
            .warnings,
        Contains(HasSubstr(trainable ? "none of 1 tensor that require"
                                     : "none of the parameters requires")));
  }
}

TEST(TorchScript, TracesAScriptedModule) {
  const SavedModule saved(SmallNet());
  const Trace trace = saved.Run({"x=f32[2,3,8,8]"});
  EXPECT_THAT(TargetsOf(trace.graph),
              ElementsAre("conv2d", "batch_norm", "relu", "dropout",
                          "adaptive_avg_pool2d", "flatten", "linear"));
  EXPECT_EQ(trace.graph.ParameterElements(), kSmallNetElements);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter),
            kSmallNetElements * 4);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kBuffer), 2 * 8 * 4);
  EXPECT_EQ(trace.graph.ForwardMacs(), 2 * 8 * 64 * 27 + 2 * 8 * 4);
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "f32[2,4]");
}

/// A scripted nn.Upsample names all that any mode and rank would call.
TEST(TorchScript, MayNameEveryUpsampling) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    if x.dim() == 5:
        return torch._upsample_nearest_exact3d(x, [4, 4, 4], None)
    if x.dim() == 2:
        return torch._upsample_lanczos2d_aa(x, [4, 4], False, None)
    return torch._upsample_nearest_exact2d(x, [4, 4], None))"));
  const Trace trace = saved.Run({"x=f32[2,3,2,2]"});
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "f32[2,3,4,4]");
}

/// Private operators that public functions of PyTorch call.
TEST(TorchScript, CountsProductsOfLowPrecision) {
  const SavedModule integers(
      Script("def forward(self, x, y):\n    return torch._int_mm(x, y)"));
  const Trace product = integers.Run({"x=i8[32,64]", "y=i8[64,48]"});
  EXPECT_EQ(product.graph.ForwardMacs(), 32 * 64 * 48);
  EXPECT_EQ(ToString(product.outputs.at(0).type), "i32[32,48]");
  const SavedModule weights(
      Script("def forward(self, x, w, s):\n"
             "    return torch._weight_int8pack_mm(x, w, s)"));
  EXPECT_EQ(weights.Run({"x=bf16[17,64]", "w=i8[48,64]", "s=bf16[48]"})
                .graph.ForwardMacs(),
            17 * 64 * 48);
  const SavedModule packed(
      Script("def forward(self, x, w, s):\n"
             "    return torch._weight_int4pack_mm(x, w, 32, s)"));
  EXPECT_EQ(packed.Run({"x=bf16[17,64]", "w=i32[6,1,32,4]", "s=bf16[2,48,2]"})
                .graph.ForwardMacs(),
            17 * 64 * 48);
}

TEST(TorchScript, TrainsAfterInferenceWithTheSameProgram) {
  const SavedModule saved(SmallNet());
  const Program program = saved.Load();
  const std::vector<BoundInput> inputs = {ParseInput("x=f32[2,3,8,8]")};
  TraceProgram(program, inputs);
  const Trace trace =
      TraceProgram(program, inputs, {.run = {.mode = Mode::kTraining}});
  EXPECT_THAT(TargetsOf(trace.graph, Phase::kBackward),
              Contains("convolution_backward"));
}

TEST(TorchScript, AFixedTypeIsHintedAtInAnotherPrecision) {
  torch::jit::Module net("Net");
  net.register_parameter("w", Random({4, 4}), false);
  net.register_parameter("b", Random({4}), false);
  net.define(R"(
def forward(self, x):
    return torch.linear(torch.to(x, 6), self.w, self.b)
)");
  const SavedModule saved(net);
  EXPECT_EQ(ToString(saved.Run({"x=f32[2,4]"}).outputs.at(0).type), "f32[2,4]");
  ExpectError(
      [&] {
        saved.Run({"x=f32[2,4]"}, {.run = {.precision = Precision::kFp16}});
      },
      ErrorCode::kInvalidArgument,
      "(run at fp16; does the file fix an element type?)");
}

/// As nn.LSTM is scripted: the parameters once more in a list, which is what
/// the layer reads.
torch::jit::Module ListedLstm() {
  torch::jit::Module net("Net");
  const std::vector<at::Tensor> weights = {Random({12, 4}), Random({12, 3}),
                                           Random({12}), Random({12})};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    net.register_parameter("w" + std::to_string(i), weights[i], false);
  }
  net.register_attribute("flat", c10::ListType::create(c10::TensorType::get()),
                         c10::List<at::Tensor>(weights));
  net.define(R"(
def forward(self, x):
    state = torch.zeros([1, 2, 3], dtype=x.dtype)
    y, h, c = torch.lstm(x, [state, state], self.flat, True, 1, 0.0, False,
                         False, False)
    return y
)");
  return net;
}

TEST(TorchScript, ListsShareTheParametersTheyHold) {
  const SavedModule saved(ListedLstm());
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    const Trace trace = saved.Run({"x=f32[5,2,4]"}, {.run = {.mode = mode}});
    constexpr std::int64_t kElements = 12 * 4 + 12 * 3 + 12 + 12;
    EXPECT_EQ(trace.graph.ParameterElements(), kElements);
    EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter), kElements * 4);
    EXPECT_EQ(trace.graph.ForwardMacs(), 5 * 2 * (12 * 4 + 12 * 3));
  }
}

TEST(TorchScript, TensorsInsideContainersFollowThePrecision) {
  torch::jit::Module net("Net");
  const auto pair = c10::TupleType::create(
      {c10::TensorType::get(), c10::ListType::create(c10::TensorType::get())});
  net.register_attribute(
      "pair", pair,
      c10::ivalue::Tuple::create(at::randn({3}),
                                 c10::List<at::Tensor>({at::randn({3})})));
  net.define(R"(
def forward(self, x):
    a, b = self.pair
    return x * a + b[0]
)");
  const SavedModule saved(net);
  const Trace trace =
      saved.Run({"x=f32[2,3]"}, {.run = {.precision = Precision::kFp16}});
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "f16[2,3]");
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kBuffer), 2 * 3 * 2);
}

TEST(TorchScript, ReportsAllOperatorsThatCannotBeTracedAtOnce) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    if bool(x.numel() > 100):
        return torch.masked_select(x, torch.gt(x, 0))
    y = torch.nonzero(torch.relu(x))
    return torch.bincount(torch.flatten(y)))"));
  ExpectError([&] { saved.Run({"x=f32[2,3]"}); }, ErrorCode::kUnsupported,
              "aten::nonzero depends on the content of a tensor, which a trace "
              "without arithmetic does not have; use --trace cpu; a trace "
              "without arithmetic may refuse in this file, too: "
              "aten::bincount, aten::masked_select");
}

TEST(TorchScript, OperatorsOfMethodsThatAreCalledAreReportedToo) {
  torch::jit::Module net("Net");
  net.define(R"(
def count(self, x):
    return torch.bincount(x)
def unused(self, x):
    return torch.masked_select(x, torch.gt(x, 0))
def forward(self, x):
    return self.count(torch.flatten(torch.nonzero(x)))
)");
  const SavedModule saved(net);
  ExpectError([&] { saved.Run({"x=f32[2,3]"}); }, ErrorCode::kUnsupported,
              "in this file, too: aten::bincount");
}

TEST(TorchScript, ALoneOperatorThatCannotBeTracedIsNamedOnce) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    return torch.nonzero(x))"));
  try {
    saved.Run({"x=f32[2,3]"});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("in this file, too")));
  }
}

/// A module whose forward pass calls `op` on its inputs and on `constant`.
torch::jit::Module Calling(const char* op,
                           const std::vector<std::string>& inputs,
                           const c10::IValue& constant) {
  InitializeTracing();
  torch::jit::Module net("Net");
  const auto graph = std::make_shared<torch::jit::Graph>();
  graph->addInput("self")->setType(net.type());
  std::vector<torch::jit::NamedValue> arguments;
  for (const std::string& input : inputs) {
    arguments.emplace_back(graph->addInput(input));
  }
  arguments.emplace_back(graph->insertConstant(constant));
  graph->registerOutput(
      graph->insert(c10::Symbol::fromQualString(op), arguments));
  net.type()->addMethod(net._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*net.type()->name(), "forward"), graph));
  return net;
}

/// torchvision's kernels are not in LibTorch, so running on the CPU is no way
/// out.
TEST(TorchScript, AnOperatorWithoutAnyKernelIsNotSentToTheCpu) {
  const SavedModule saved(
      Calling("torchvision::nms", {"boxes", "scores"}, 0.5));
  ExpectError(
      [&] {
        saved.Run({"boxes=f32[5,4]", "scores=f32[5]"});
      },
      ErrorCode::kUnsupported,
      "LibTorch alone has no kernel that runs it; an ONNX export may "
      "work");
}

/// Constants of the code, as tracing leaves them, follow the precision, too.
TEST(TorchScript, ConstantsFollowThePrecision) {
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kDouble}) {
    const SavedModule saved(
        Calling("aten::matmul", {"x"}, at::ones({16, 3}).to(type)));
    const Trace trace =
        saved.Run({"x=f32[2,16]"}, {.run = {.precision = Precision::kBf16}});
    EXPECT_EQ(ToString(trace.outputs.at(0).type), "bf16[2,3]");
  }
}

TEST(TorchScript, FloatsMadeWithoutADeviceAreOnTheGpuWithAWarning) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    made = torch.zeros([4, 16])
    made[:, :8] = x[:, 8:]
    return torch.cat([x @ torch.ones([16, 2]), made], 1))"));
  const Trace trace = saved.Run({"x=f32[4,16]"});
  EXPECT_EQ(trace.graph.ForwardMacs(), 4 * 16 * 2);
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "f32[4,18]");
  EXPECT_THAT(trace.warnings,
              testing::ElementsAre(testing::HasSubstr(
                  "tensors made without a device (zeros, ones) are taken")));
}

TEST(TorchScript, FloatsThatAreListedAreOnTheHostUntilTheyAreUsed) {
  const SavedModule listed(Script(R"(
def forward(self, x):
    return x * torch.tensor([1.0, 2.0]))"));
  const Trace trace = listed.Run({"x=f32[4,2]"});
  EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("mul"));
  EXPECT_EQ(trace.graph.nodes().front().inputs.size(), 2);
  EXPECT_THAT(
      trace.warnings,
      testing::ElementsAre(testing::HasSubstr("without a device (mul)")));
  const SavedModule moved(Script(R"(
def forward(self, x):
    return x * torch.tensor([1.0, 2.0], device=x.device))"));
  const Trace there = moved.Run({"x=f32[4,2]"});
  EXPECT_THAT(TargetsOf(there.graph), ElementsAre("to", "mul"));
  EXPECT_THAT(there.warnings, testing::IsEmpty());
}

TEST(TorchScript, WhatMovesATensorIsNoMixture) {
  for (const std::string expression :
       {"x * torch.tensor([1.0, 2.0]).to(x)",
        "x * torch.tensor([1.0, 2.0]).type_as(x)", "x.to(\"cpu\") * 2",
        "x[torch.tensor([1, 0])]"}) {
    const SavedModule saved(
        Script("def forward(self, x):\n    return " + expression));
    EXPECT_THAT(saved.Run({"x=f32[4,2]"}).warnings, testing::IsEmpty())
        << expression;
  }
  const SavedModule mixed(
      Script("def forward(self, x):\n    return x * torch.arange(2)"));
  EXPECT_THAT(mixed.Run({"x=f32[4,2]"}).warnings,
              testing::ElementsAre(testing::HasSubstr("(mul)")));
}

TEST(TorchScript, ListedNumbersMayBeLookedAt) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    sizes = torch.tensor([3, 2])
    return x[:, :int(sizes[1])])"));
  const Trace trace = saved.Run({"x=f32[4,6]"});
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "f32[4,2]");
}

TEST(TorchScript, NumbersMadeOnTheHostStayThere) {
  for (const std::string expression :
       {"x * torch.ones([])", "x[torch.zeros([2], dtype=4)]",
        "torch.zeros_like(x).copy_(torch.tensor([1.0]))"}) {
    const SavedModule saved(
        Script("def forward(self, x):\n    return " + expression));
    EXPECT_THAT(saved.Run({"x=f32[4,16]"}).warnings, testing::IsEmpty())
        << expression;
  }
}

TEST(TorchScript, WritingIntoATensorOfTheHostIsRefusedByItsType) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    made = torch.tensor([1.0, 2.0])
    return made.copy_(x[0]))"));
  ExpectError([&] { saved.Run({"x=f32[4,2]"}); }, ErrorCode::kUnsupported,
              "aten::copy_ writes into a tensor on the host, f32[2]");
}

TEST(TorchScript, WeightsOfOtherTypesAreMentioned) {
  torch::jit::Module net("Net");
  net.register_parameter("w", Random({4, 8}).to(at::kHalf).detach(), false);
  net.register_buffer("q", at::ones({4, 16}, at::kChar));
  net.define(R"(
def forward(self, x):
    return torch.linear(torch.linear(x, self.w), self.q.to(x.dtype).t())
)");
  const SavedModule saved(net);
  EXPECT_THAT(saved.Run({"x=f16[2,8]"}).warnings,
              testing::UnorderedElementsAre(
                  "32 weights of type f16 keep their type at --precision fp32",
                  "64 weights of type i8 (64 bytes) are counted as memory, not "
                  "as parameters"));
}

TEST(TorchScript, GivesTheSameGraphAgain) {
  const SavedModule saved(SmallNet());
  const Program program = saved.Load();
  const std::vector<BoundInput> inputs = {ParseInput("x=f32[2,3,8,8]")};
  const auto first = TargetsOf(TraceProgram(program, inputs).graph);
  EXPECT_EQ(TargetsOf(TraceProgram(program, inputs).graph), first);
}

TEST(TorchScript, TrainingModeSetsTheModulesFlag) {
  const SavedModule saved(SmallNet());
  const Trace trace = saved.Run(
      {"x=f32[2,3,8,8]"},
      {.run = {.mode = Mode::kTraining, .optimizer = Optimizer::kMomentum}});
  const OperatorGraph& graph = trace.graph;
  EXPECT_EQ(graph.node(1).Int("training", 0), 1);
  EXPECT_EQ(graph.node(3).Int("train", 0), 1);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kOptimizerState),
            kSmallNetElements * 4);
  EXPECT_THAT(TargetsOf(graph, Phase::kBackward),
              Contains("convolution_backward"));
  EXPECT_THAT(TargetsOf(graph, Phase::kBackward),
              Contains(HasSubstr("batch_norm_backward")));
}

TEST(TorchScript, WeightsFollowThePrecision) {
  const SavedModule saved(SmallNet());
  const Trace trace =
      saved.Run({"x=f32[2,3,8,8]"}, {.run = {.precision = Precision::kFp16}});
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter),
            kSmallNetElements * 2);
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "f16[2,4]");
}

TEST(TorchScript, RunsOnTheCpuWithRandomWeights) {
  const SavedModule saved(SmallNet());
  const Trace cpu =
      saved.Run({"x=f32[2,3,8,8]"}, {.device = TraceDevice::kCpu});
  EXPECT_EQ(TargetsOf(cpu.graph),
            TargetsOf(saved.Run({"x=f32[2,3,8,8]"}).graph));
}

TEST(TorchScript, DoesNotReadWeights) {
  const SavedModule saved(SmallNet());
  const TemporaryFile slim("slim.pt");
  slim.Write(
      ReadSlimArchive(OpenRegularFile(saved.file().path(), kAnySize)).bytes);
  const Program program = LoadTorchScript(slim.path());
  EXPECT_EQ(program.parameter_elements(), kSmallNetElements);
  const Trace trace = TraceProgram(program, {ParseInput("x=f32[2,3,8,8]")});
  EXPECT_EQ(TargetsOf(trace.graph),
            TargetsOf(saved.Run({"x=f32[2,3,8,8]"}).graph));
}

TEST(TorchScript, SlimArchivesDoNotGrowWithTheWeights) {
  torch::jit::Module large("Net");
  large.register_parameter("w", at::zeros({1 << 20}), false);
  large.define("def forward(self, x):\n    return torch.mul(x, self.w)\n");
  const SavedModule saved(large);
  EXPECT_GT(std::filesystem::file_size(saved.file().path()), 4u << 20);
  EXPECT_LT(ReadSlimArchive(OpenRegularFile(saved.file().path(), kAnySize))
                .bytes.size(),
            64u << 10);
}

TEST(TorchScript, SharedParametersStayShared) {
  const at::Tensor weight = Random({16, 16});
  torch::jit::Module net("Net");
  net.register_parameter("a", weight, false);
  net.register_parameter("b", weight, false);
  net.define(R"(
def forward(self, x):
    return torch.matmul(torch.matmul(x, self.a), self.b)
)");
  const Trace trace = SavedModule(net).Run({"x=f32[4,16]"});
  EXPECT_EQ(trace.graph.ParameterElements(), 256);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter), 1024);
  EXPECT_EQ(trace.graph.node(0).inputs[1], trace.graph.node(1).inputs[1]);
}

TEST(TorchScript, ScopesAreModulePaths) {
  torch::jit::Module inner("Inner");
  inner.define("def forward(self, x):\n    return torch.relu(x)\n");
  torch::jit::Module outer("Outer");
  outer.register_module("head", inner);
  outer.define("def forward(self, x):\n    return self.head.forward(x)\n");
  const Trace trace = SavedModule(outer).Run({"x=f32[4]"});
  EXPECT_EQ(trace.graph.node(0).scope, "head");
}

TEST(TorchScript, ScopesNameTheListsOfModules) {
  torch::jit::Module net("Net");
  for (const char* name : {"first", "second"}) {
    torch::jit::Module leaf(std::string(name) + "Leaf");
    leaf.define("def forward(self, x, y):\n    return torch.add(x, y)\n");
    torch::jit::Module inner(std::string(name) + "Inner");
    inner.register_module("0", leaf);
    torch::jit::Module list(std::string(name) + "List");
    list.register_module("layers", inner);
    net.register_module(name, list);
  }
  net.define(R"(
def forward(self, x):
    a = getattr(self.first.layers, "0")
    b = getattr(self.second.layers, "0")
    return b.forward(a.forward(x, x), x)
)");
  const Trace trace = SavedModule(net).Run({"x=f32[4]"});
  ASSERT_EQ(trace.graph.nodes().size(), 2u);
  EXPECT_EQ(trace.graph.node(0).scope, "first.layers.0");
  EXPECT_EQ(trace.graph.node(1).scope, "second.layers.0");
}

// ---- What tracing leaves behind ---------------------------------------------

TEST(TorchScript, TracedConvolutionsAreConvolutions) {
  torch::jit::Module net("Net");
  net.register_parameter("w", Random({8, 3, 3, 3}), false);
  net.define(R"(
def forward(self, x):
    return torch._convolution(x, self.w, None, [2, 2], [1, 1], [1, 1], False,
                              [0, 0], 1, False, False, True, True)
)");
  const Trace trace = SavedModule(net).Run({"x=f32[2,3,8,8]"});
  ASSERT_EQ(trace.graph.nodes().size(), 1u);
  EXPECT_EQ(trace.graph.node(0).kind, OpKind::kConvolution);
  EXPECT_EQ(trace.graph.ForwardMacs(), 2 * 8 * 16 * 27);
}

TEST(TorchScript, DevicesOfTheTracingMachineAreReplaced) {
  const std::string code = R"(
def forward(self, x):
    zeros = torch.zeros([4, 16], dtype=6, device=torch.device("DEVICE"))
    return torch.add(x, zeros)
)";
  for (const std::string device : {"cpu", "cuda:0"}) {
    std::string with_device = code;
    with_device.replace(with_device.find("DEVICE"), 6, device);
    const Trace trace = SavedModule(Script(with_device)).Run({"x=f32[4,16]"});
    EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("zeros", "add")) << device;
  }
}

TEST(TorchScript, ShapeArithmeticLeavesNoOperators) {
  const Trace trace = SavedModule(Script(R"(
def forward(self, x):
    n = torch.size(x, 0)
    return torch.view(x, [n * 2, -1])
)"))
                          .Run({"x=f32[4,16]"});
  EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("view"));
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "f32[8,8]");
}

TEST(TorchScript, ConstantsOfTheGraphMoveAlong) {
  torch::jit::Module net =
      Script("def forward(self, x):\n    return torch.mul(x, x)");
  // As modules have it that are not frozen.
  net.register_attribute("training", c10::BoolType::get(), false);
  auto graph = net.get_method("forward").graph();
  for (torch::jit::Node* node : graph->nodes()) {
    if (node->kind() != c10::Symbol::fromQualString("aten::mul")) continue;
    const torch::jit::WithInsertPoint before(node);
    node->replaceInput(1, graph->insertConstant(at::arange(16) * 0.5));
  }
  const SavedModule saved(net);
  const Trace trace = saved.Run({"x=f32[4,16]"});
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kBuffer), 64);
  EXPECT_EQ(saved.Run({"x=f32[4,16]"}, {.device = TraceDevice::kCpu})
                .graph.nodes()
                .size(),
            1u);
}

// ---- Inputs and outputs -----------------------------------------------------

TEST(TorchScript, AsksForShapesThatTheFileDoesNotHave) {
  const Program program = SavedModule(SmallNet()).Load();
  ASSERT_EQ(program.inputs().size(), 1u);
  EXPECT_EQ(program.inputs()[0].name, "x");
  EXPECT_FALSE(program.inputs()[0].dims.has_value());
  ExpectError([&] { BindInputs(program.inputs(), {}, program.name()); },
              ErrorCode::kInvalidArgument, "'x' has no shape (use --input x=");
}

TEST(TorchScript, AListOfTensorsIsAnInput) {
  const Trace trace = SavedModule(Script(R"(
def forward(self, xs: List[Tensor], y):
    return torch.add(xs[0], y)
)"))
                          .Run({"xs=f32[4]", "y=f32[4]"});
  EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("add"));
}

TEST(TorchScript, ArgumentsWithDefaultsNeedNotBeGiven) {
  const Trace trace = SavedModule(Script(R"(
def forward(self, x, scale: float = 2.0):
    return torch.mul(x, scale)
)"))
                          .Run({"x=f32[4]"});
  EXPECT_EQ(trace.inputs.size(), 1u);
}

TEST(TorchScript, OptionalTensorsMayBeGivenByName) {
  const SavedModule saved(Script(R"(
def forward(self, x, bias: Optional[Tensor] = None,
            mask: Optional[Tensor] = None):
    if mask is not None:
        x = torch.mul(x, mask)
    if bias is not None:
        x = torch.add(x, bias)
    return torch.relu(x)
)"));
  EXPECT_THAT(TargetsOf(saved.Run({"f32[4]"}).graph), ElementsAre("relu"));
  const Trace trace = saved.Run({"f32[4]", "mask=f32[1]"});
  EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("mul", "relu"));
  EXPECT_EQ(trace.inputs.size(), 2u);
}

TEST(TorchScript, OtherArgumentsAreRefusedByName) {
  const SavedModule saved(Script(R"(
def forward(self, x, flag: bool):
    return x
)"));
  ExpectError([&] { saved.Load(); }, ErrorCode::kUnsupported,
              "forward takes 'flag' of type bool, expected a tensor");
}

TEST(TorchScript, TuplesListsDictsAndNumbersAreOutputs) {
  const Trace trace = SavedModule(Script(R"(
def forward(self, x):
    y = torch.relu(x)
    return (y, [torch.tanh(x), y], {"probability": torch.sigmoid(x)}, 3)
)"))
                          .Run({"x=f32[4]"});
  EXPECT_THAT(DescribeOutputs(trace),
              ElementsAre("output0=f32[4]", "output1=f32[4]", "output2=f32[4]",
                          "probability=f32[4]", "output4=i64[] on the host"));
}

// ---- Errors of a run --------------------------------------------------------

TEST(TorchScript, DataDependenceKeepsItsCodeAndAdvice) {
  const SavedModule saved(
      Script("def forward(self, x):\n    return torch.nonzero(x)"));
  ExpectError([&] { saved.Run({"x=f32[4]"}); }, ErrorCode::kUnsupported,
              "aten::nonzero");
  ExpectError([&] { saved.Run({"x=f32[4]"}); }, ErrorCode::kUnsupported,
              "--trace cpu");
}

TEST(TorchScript, ErrorsOfShapesNameTheFile) {
  const SavedModule saved(SmallNet());
  ExpectError([&] { saved.Run({"x=f32[2,5,8,8]"}); },
              ErrorCode::kInvalidArgument, saved.file().path() + ": ");
}

TEST(TorchScript, RaisedExceptionsAreErrors) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    assert torch.size(x, 0) <= 2, "too many"
    return x
)"));
  ExpectError([&] { saved.Run({"x=f32[4]"}); }, ErrorCode::kInvalidArgument,
              "too many");
}

}  // namespace
}  // namespace foretell::torchscript
