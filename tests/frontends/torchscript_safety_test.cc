// Files that try to do harm, or that are no TorchScript at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/library.h>

#include <ctime>

#include "frontends/torchscript/limits.h"
#include "tests/frontends/script_file.h"
#include "tests/graph/expect_error.h"
#include "tests/program/trace_queries.h"

namespace foretell::torchscript {
namespace {

using testing::HasSubstr;

/// Of the processor's time, which does not depend on who else uses it.
constexpr double kPatienceSeconds = 2;

/// Expects the refusal of `code` when it is loaded.
void ExpectRefused(const torch::jit::Module& module, const std::string& part) {
  const SavedModule saved(module);
  ExpectError([&] { saved.Load(); }, ErrorCode::kUnsupported, part);
}

/// A module with an operator of `name` on its input.
torch::jit::Module WithOperator(const std::string& name) {
  torch::jit::Module module =
      Script("def forward(self, x):\n    return torch.relu(x)");
  auto graph = module.get_method("forward").graph();
  torch::jit::Node* relu = *graph->nodes().begin();
  torch::jit::Node* node =
      graph->create(c10::Symbol::fromQualString(name), {graph->inputs()[1]}, 1);
  node->insertBefore(relu);
  relu->replaceInput(0, node->output());
  return module;
}

TEST(TorchScriptSafety, RefusesToWriteFiles) {
  ExpectRefused(Script(R"(
def forward(self, x):
    torch.save(x, "/tmp/owned")
    return x
)"),
                "aten::save");
}

TEST(TorchScriptSafety, RefusesToReadFiles) {
  ExpectRefused(Script(R"(
def forward(self, x):
    return torch.from_file("/etc/passwd", False, 16)
)"),
                "aten::from_file");
}

TEST(TorchScriptSafety, LooksIntoMethodsThatForwardDoesNotCall) {
  ExpectRefused(Script(R"(
def forward(self, x):
    return x
def other(self, x):
    torch.save(x, "/tmp/owned")
    return x
)"),
                "aten::save");
}

TEST(TorchScriptSafety, RefusesCodeThatRunsWhileLoading) {
  torch::jit::Module module("Net");
  module.register_attribute("state", c10::TensorType::get(), at::zeros({1}));
  module.define(R"(
def __getstate__(self) -> Tensor:
    return self.state
def __setstate__(self, state: Tensor) -> None:
    self.state = state
def forward(self, x):
    return x
)");
  ExpectRefused(module, "__setstate__");
}

TEST(TorchScriptSafety, RefusesUnknownNamespaces) {
  static const torch::jit::RegisterOperators registered({torch::jit::Operator(
      "foretell_unknown::twice(Tensor x) -> Tensor", [](torch::jit::Stack&) {},
      c10::AliasAnalysisKind::CONSERVATIVE)});
  ExpectRefused(WithOperator("foretell_unknown::twice"),
                "foretell_unknown::twice");
}

TEST(TorchScriptSafety, AClassInAPackageCalledOpsIsNoOperator) {
  torch::jit::Module inner("__torch__.vision.ops.misc.Act");
  inner.define("def forward(self, x):\n    return torch.relu(x)\n");
  torch::jit::Module outer("__torch__.vision.Net");
  outer.register_module("act", inner);
  outer.define("def forward(self, x):\n    return self.act.forward(x)\n");
  const SavedModule saved(outer);
  EXPECT_THAT(TargetsOf(saved.Run({"x=f32[2]"}).graph),
              testing::ElementsAre("relu"));
}

TEST(TorchScriptSafety, ListsEverythingThatItRefuses) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    torch.save(x, "/tmp/owned")
    return torch.from_file("/etc/passwd", False, 16)
)"));
  ExpectError([&] { saved.Load(); }, ErrorCode::kUnsupported,
              "aten::from_file, aten::save");
}

TEST(TorchScriptSafety, AModuleNeedsAForwardMethod) {
  const SavedModule saved(Script("def predict(self, x):\n    return x"));
  ExpectError([&] { saved.Load(); }, ErrorCode::kUnsupported,
              "no method 'forward'");
}

// ---- Endless programs -------------------------------------------------------

void ExpectEnds(const std::string& code, const std::string& part) {
  SCOPED_TRACE(code);
  const SavedModule saved(Script(code));
  const Program program = saved.Load();
  const std::clock_t started = std::clock();
  ExpectError([&] { TraceProgram(program, {ParseInput("x=f32[4]")}); },
              ErrorCode::kUnsupported, part);
  EXPECT_LT(std::clock() - started, kPatienceSeconds * CLOCKS_PER_SEC);
}

TEST(TorchScriptLimits, EndlessLoopsOverNumbersEnd) {
  ExpectEnds(R"(
def forward(self, x):
    n = 0
    while True:
        n = n + 1
    return x
)",
             "a loop in it does not end");
  ExpectEnds(R"(
def forward(self, x):
    n = 1
    for i in range(1000000000000000):
        for k in range(1000000000000000):
            n = n + i * k
    return x
)",
             "a loop in it does not end");
}

TEST(TorchScriptLimits, EndlessLoopsOverTensorsEnd) {
  ExpectEnds(R"(
def forward(self, x):
    while True:
        x = torch.relu(x)
    return x
)",
             "a trace has at most");
}

TEST(TorchScriptLimits, ALoopThatEndsRuns) {
  const Trace trace = SavedModule(Script(R"(
def forward(self, x):
    for i in range(1000):
        x = torch.relu(x)
    return x
)"))
                          .Run({"x=f32[4]"});
  EXPECT_EQ(trace.graph.nodes().size(), 1000u);
}

TEST(TorchScriptLimits, TheBudgetIsForOnePassNotForAll) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    n = 0
    while n < 300000:
        n = n + 1
    return torch.relu(x)
)"));
  const Program program = saved.Load();
  for (int i = 0; i < 10; ++i) {
    EXPECT_NO_THROW(TraceProgram(program, {ParseInput("x=f32[4]")}));
  }
}

TEST(TorchScriptLimits, FunctionsThatDoubleAreRefusedBeforeTheyAreInlined) {
  std::string code = "def f0(self, x):\n    return torch.relu(x)\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string callee = "self.f" + std::to_string(i - 1);
    code += "def f" + std::to_string(i) + "(self, x):\n    return " + callee +
            "(" + callee + "(x))\n";
  }
  code += "def forward(self, x):\n    return self.f40(x)\n";
  ExpectRefused(Script(code), "nodes when its calls are inlined");
}

TEST(TorchScriptLimits, DeepCodeIsRefusedBeforeItIsParsed) {
  const auto refused = [](const std::string& text) {
    ExpectError(
        [&] {
          RefuseDeepCode("m.pt", {{"code/net.py", text}});
        },
        ErrorCode::kUnsupported, "m.pt: code/net.py: ");
  };
  refused("x = " + std::string(10'000, '(') + std::string(10'000, ')'));
  refused("x = " + std::string(10'000, '-') + "1");
  std::string blocks;
  for (int i = 0; i < 10'000; ++i) {
    blocks += std::string(static_cast<std::size_t>(i), ' ') + "if c:\n";
    if (blocks.size() > 1'000'000) break;
  }
  refused(blocks);
  EXPECT_NO_THROW(RefuseDeepCode(
      "m.pt", {{"code/net.py", "x = \"" + std::string(10'000, '(') + "\"\n"}}));
}

// ---- Other files ------------------------------------------------------------

TEST(TorchScriptFile, WhatIsNoTorchScriptIsNamedSo) {
  const TemporaryFile file("plain.pt");
  ExpectError([&] { LoadTorchScript(file.path()); }, ErrorCode::kNotFound,
              file.path());
  file.Write("");
  ExpectError([&] { LoadTorchScript(file.path()); }, ErrorCode::kCorrupt,
              file.path());
  file.Write("\x89PNG\r\n\x1a\n not a zip");
  ExpectError([&] { LoadTorchScript(file.path()); }, ErrorCode::kCorrupt,
              file.path());
}

TEST(TorchScriptFile, ADirectoryIsNoFile) {
  const TemporaryFile folder("folder.pt");
  std::filesystem::create_directory(folder.path());
  ExpectError([&] { LoadTorchScript(folder.path()); }, ErrorCode::kIo,
              folder.path());
}

TEST(TorchScriptFile, AnotherZipIsNamedSo) {
  const TemporaryFile file("other.zip");
  {
    caffe2::serialize::PyTorchStreamWriter writer(file.path());
    writer.writeRecord("hello.txt", "hello", 5);
    writer.writeEndOfFile();
  }
  ExpectError([&] { LoadTorchScript(file.path()); }, ErrorCode::kCorrupt,
              "not TorchScript");
}

TEST(TorchScriptFile, AConstantMustBeAsLongAsItsTensor) {
  torch::jit::Module net =
      Script("def forward(self, x):\n    return torch.mul(x, x)");
  auto graph = net.get_method("forward").graph();
  for (torch::jit::Node* node : graph->nodes()) {
    if (node->kind() != c10::Symbol::fromQualString("aten::mul")) continue;
    const torch::jit::WithInsertPoint before(node);
    node->replaceInput(1, graph->insertConstant(at::arange(16) * 0.5));
  }
  const SavedModule saved(net);
  EXPECT_NO_THROW(saved.Load());

  const TemporaryFile shortened("short.pt");
  {
    caffe2::serialize::PyTorchStreamReader reader(saved.file().path());
    caffe2::serialize::PyTorchStreamWriter writer(shortened.path());
    for (const std::string& name : reader.getAllRecords()) {
      const auto [data, size] = reader.getRecord(name);
      if (name == "version" || name.starts_with(".data/")) continue;
      const bool cut = name.starts_with("constants/");
      writer.writeRecord(name, data.get(), cut ? 3 : size);
    }
    writer.writeEndOfFile();
  }
  ExpectError([&] { LoadTorchScript(shortened.path()); }, ErrorCode::kCorrupt,
              "constants/0 has 3 bytes, its tensor needs 64");
}

/// Two small files that between them have most features.
std::vector<torch::jit::Module> SmallModules() {
  torch::jit::Module layers("Layers");
  layers.register_parameter("w", at::ones({4, 4}), false);
  layers.register_buffer("b", at::ones({4}));
  layers.define(R"(
def forward(self, x):
    y = torch.add(torch.matmul(x, self.w), self.b)
    for i in range(3):
        y = torch.relu(y)
    return {"a": y, "b": torch.softmax(y, -1)}
)");
  torch::jit::Module outer("Outer");
  outer.register_module("inner", layers.deepcopy());
  outer.register_attribute("scale", c10::FloatType::get(), 2.0);
  outer.define(R"(
def forward(self, x, ys: List[Tensor] = []):
    if torch.size(x, 0) > 100:
        return x
    return torch.mul(self.inner.forward(x)["a"], self.scale)
)");
  return {layers, outer};
}

/// Loads and traces damaged bytes: any outcome but a typed error or success
/// fails. Returns whether it succeeded.
bool Survives(const TemporaryFile& file, const std::string& bytes) {
  file.Write(bytes);
  try {
    const Program program = LoadTorchScript(file.path());
    std::vector<BoundInput> inputs;
    for (const InputSpec& input : program.inputs()) {
      inputs.push_back({input.name, {DType::kF32, {4, 4}}});
    }
    TraceProgram(program, inputs);
    return true;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(file.path()));
    return false;
  }
}

TEST(TorchScriptFile, EveryTruncationIsATypedError) {
  const TemporaryFile damaged("truncated.pt");
  for (const torch::jit::Module& module : SmallModules()) {
    const std::string bytes = SavedModule(module).file().Read();
    EXPECT_TRUE(Survives(damaged, bytes));
    for (std::size_t size = 0; size < bytes.size(); size += 97) {
      EXPECT_FALSE(Survives(damaged, bytes.substr(0, size))) << size;
    }
  }
}

TEST(TorchScriptFile, EveryBitFlipIsATypedErrorOrHarmless) {
  const TemporaryFile damaged("flipped.pt");
  for (const torch::jit::Module& module : SmallModules()) {
    const std::string bytes = SavedModule(module).file().Read();
    for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += 997) {
      SCOPED_TRACE(bit);
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      Survives(damaged, flipped);
    }
  }
}

}  // namespace
}  // namespace foretell::torchscript
