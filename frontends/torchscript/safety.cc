// A TorchScript file is a program, so it is looked at before it runs.
//
// Namespaces are an allow-list: aten, prim, torchvision. Within them the few
// operators that reach outside the process, or need not end, are refused by
// name. The text is scanned first because torch::jit::load itself executes
// `__setstate__`. The graphs of all functions are scanned afterwards: the text
// can be spelt in ways that a pattern misses, a compiled graph cannot.

#include "frontends/torchscript/safety.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <array>
#include <regex>
#include <set>
#include <string_view>

#include "foretell/error.h"
#include "src/core/text.h"

namespace foretell::torchscript {
namespace {

constexpr std::array<std::string_view, 4> kNamespaces = {
    "aten", "prim", "torchvision", "_caffe2"};

/// Operators of the allowed namespaces that read or write files or standard
/// streams, start other processes, call Python, or end the process; and those
/// whose loops numbers decide, without end for NaN.
constexpr std::array<std::string_view, 16> kRefused = {
    "aten::_print",
    "aten::_sample_dirichlet",
    "aten::_standard_gamma",
    "aten::binomial",
    "aten::from_file",
    "aten::load",
    "aten::save",
    "aten::set_grad_enabled_",
    "prim::PythonOp",
    "prim::rpc_async",
    "prim::rpc_remote",
    "prim::rpc_sync",
    "prim::fork",
    "prim::awaitable",
    "aten::_load_for_lite_interpreter",
    "aten::record_stream"};

/// Begins the last part of the names of special_laguerre_polynomial_l and its
/// kin, each of which makes as many steps as a number among its arguments says.
constexpr std::string_view kPolynomial = "_polynomial_";

bool IsAllowed(const std::string& name) {
  const std::string space = name.substr(0, name.find("::"));
  if (name.find(kPolynomial) != std::string::npos) return false;
  for (const std::string_view refused : kRefused) {
    if (name == refused) return false;
  }
  for (const std::string_view allowed : kNamespaces) {
    if (space == allowed) return true;
  }
  return false;
}

void ThrowIfAny(const std::string& path, const std::set<std::string>& names) {
  if (names.empty()) return;
  throw Error(ErrorCode::kUnsupported,
              path +
                  ": refused before running: operators outside ATen, or "
                  "that touch files, Python or other processes, or need not "
                  "end: " +
                  Joined(names));
}

void ScanText(const std::string& text, std::set<std::string>& refused) {
  // Serialized code spells ATen calls `torch.name(…)`, others
  // `ops.namespace.name(…)`. After a dot it is part of another name: the class
  // __torch__.torchvision.ops.misc.MLP.
  static const std::regex kCall(
      R"((?:\btorch\.(\w+)\()|(?:\bops\.(\w+)\.(\w+)))");
  const auto end = std::sregex_iterator();
  for (auto it = std::sregex_iterator(text.begin(), text.end(), kCall);
       it != end; ++it) {
    if (it->position() > 0 &&
        text[static_cast<std::size_t>(it->position()) - 1] == '.') {
      continue;
    }
    const std::string name = (*it)[1].matched
                                 ? "aten::" + (*it)[1].str()
                                 : (*it)[2].str() + "::" + (*it)[3].str();
    if (!IsAllowed(name)) refused.insert(name);
  }
  if (text.find("__setstate__") != std::string::npos) {
    refused.insert("__setstate__ (code that runs while loading)");
  }
}

void ScanBlock(const torch::jit::Block& block, std::set<std::string>& refused) {
  for (const torch::jit::Node* node : block.nodes()) {
    const std::string name = node->kind().toQualString();
    if (!IsAllowed(name)) refused.insert(name);
    for (const torch::jit::Block* inner : node->blocks()) {
      ScanBlock(*inner, refused);
    }
  }
}

}  // namespace

void RefuseUnsafeCode(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& code) {
  std::set<std::string> refused;
  for (const auto& [record, text] : code) ScanText(text, refused);
  ThrowIfAny(path, refused);
}

void RefuseUnsafeFunctions(const std::string& path,
                           const torch::jit::CompilationUnit& unit) {
  std::set<std::string> refused;
  for (torch::jit::Function* function : unit.get_functions()) {
    ScanBlock(*torch::jit::toGraphFunction(*function).graph()->block(),
              refused);
  }
  ThrowIfAny(path, refused);
}

}  // namespace foretell::torchscript
