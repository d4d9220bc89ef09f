// Files that try to do harm, or that are no TorchScript at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/library.h>

#include <cstring>

#include "tests/frontends/script_file.h"
#include "tests/graph/expect_error.h"
#include "tests/program/trace_queries.h"

namespace foretell::torchscript {
namespace {

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

TEST(TorchScriptSafety, RefusesToPrint) {
  const TemporaryFile file("print.pt");
  WriteCode(file, "):\n    torch._print(\"text\")\n    return x");
  ExpectError([&] { LoadTorchScript(file.path()); }, ErrorCode::kUnsupported,
              "aten::_print");
}

TEST(TorchScriptSafety, RefusesGradientsThatTrustTheShapesTheyAreGiven) {
  const TemporaryFile file("gradient.pt");
  for (const char* const call :
       {"reflection_pad1d_backward(x, x, [1, 1])",
        "fractional_max_pool2d_backward(x, x, [2, 2], [2, 2], x)"}) {
    WriteCode(file, std::string("):\n    return torch.") + call);
    const std::string name(call, std::strchr(call, '('));
    ExpectError([&] { LoadTorchScript(file.path()); }, ErrorCode::kUnsupported,
                "aten::" + name);
  }
}

TEST(TorchScriptSafety, RefusesPrivateOperatorsThatNoExporterWrites) {
  ExpectRefused(Script(R"(
def forward(self, x):
    return torch._reshape_alias(torch.ones([4]), [100000000], [1])
)"),
                "aten::_reshape_alias");
  EXPECT_NO_THROW(SavedModule(Script(R"(
def forward(self, x):
    return torch._softmax(x, 0, False)
)"))
                      .Load());
}

TEST(TorchScriptSafety, RefusesClassesThatAreWrittenInCpp) {
  const TemporaryFile file("classes.pt");
  WriteCode(file,
            "):\n    y = annotate(Optional[__torch__.torch.classes.quantized."
            "LinearPackedParamsBase], None)\n    return x");
  ExpectError([&] { LoadTorchScript(file.path()); }, ErrorCode::kUnsupported,
              "torch.classes");
}

TEST(TorchScriptSafety, RefusesCastsThatNobodyChecks) {
  const TemporaryFile file("cast.pt");
  WriteCode(file,
            "):\n    t = unchecked_cast(Tuple[Tensor, Tensor], "
            "annotate(Any, x))\n    return (t)[1]");
  ExpectError([&] { LoadTorchScript(file.path()); }, ErrorCode::kUnsupported,
              "unchecked_cast to Tuple[Tensor, Tensor]");
}

TEST(TorchScriptSafety, LeavesGradModeAsItWas) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    torch.set_grad_enabled(False)
    return torch.relu(x)
)"));
  const bool before = at::GradMode::is_enabled();
  saved.Run({"x=f32[2]"});
  EXPECT_EQ(at::GradMode::is_enabled(), before);
}

TEST(TorchScriptSafety, RefusesOperatorsThatLoopAsOftenAsANumberSays) {
  ExpectRefused(Script(R"(
def forward(self, x):
    y = torch.special_laguerre_polynomial_l(torch.ones([4]), 1 << 60)
    return x, y
)"),
                "aten::special_laguerre_polynomial_l");
  ExpectRefused(Script(R"(
def forward(self, x):
    return x, torch._standard_gamma(torch.full([1], float("nan")))
)"),
                "aten::_standard_gamma");
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

TEST(TorchScriptSafety, SaysWhyEachOperatorIsRefused) {
  const TemporaryFile file("reasons.pt");
  WriteCode(file,
            "):\n    y = torch._reshape_alias(x, [1], [1])\n"
            "    torch.save(y, \"/tmp/owned\")\n"
            "    return ops.mine.layer(torch._no_such_operator(y))");
  for (const char* const part :
       {"that LibTorch alone does not have: aten::_no_such_operator, "
        "mine::layer; ",
        "that access files", "may not terminate: aten::save; ",
        "private to PyTorch", "list of allowed ones: aten::_reshape_alias"}) {
    ExpectError([&] { LoadTorchScript(file.path()); }, ErrorCode::kUnsupported,
                part);
  }
}

TEST(TorchScriptSafety, NamesWhatLeavesWeightsOutOfTheFile) {
  const TemporaryFile file("mkldnn.pt");
  WriteCode(file, "):\n    w = ops.prim.ConstantMKLDNNTensor()\n    return x");
  ExpectError([&] { LoadTorchScript(file.path()); }, ErrorCode::kUnsupported,
              "save the network before");
}

TEST(TorchScriptSafety, AModuleNeedsAForwardMethod) {
  const SavedModule saved(Script("def predict(self, x):\n    return x"));
  ExpectError([&] { saved.Load(); }, ErrorCode::kUnsupported,
              "no method 'forward'");
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
              "a zip archive, but neither TorchScript");
}

TEST(TorchScriptFile, TheOldFormatIsRefusedByItsRecord) {
  const TemporaryFile file("old.pt");
  {
    caffe2::serialize::PyTorchStreamWriter writer(file.path());
    for (const char* name : {"data.pkl", "constants.pkl", "model.json"}) {
      writer.writeRecord(name, "{}", 2);
    }
    writer.writeEndOfFile();
  }
  ExpectError([&] { LoadTorchScript(file.path()); }, ErrorCode::kUnsupported,
              "(record 'model.json')");
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

}  // namespace
}  // namespace foretell::torchscript
