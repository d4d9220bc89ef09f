// A TorchScript file is a program, so it is inspected before it runs.
//
// The text is scanned first: loading folds operators on numbers and texts, and
// runs `__setstate__`. The graphs of all functions are scanned afterwards: the
// text can be spelt in ways that a scan misses, a compiled graph cannot.

#include "frontends/torchscript/safety.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>

#include "frontends/shared/allowed_operators.h"
#include "frontends/torchscript/tokens.h"

namespace foretell::torchscript {
namespace {

/// What torch.jit.optimize_for_inference turns weights into.
constexpr std::string_view kLostWeight = "prim::ConstantMKLDNNTensor";

void Judge(const std::string& name, RefusedOperators& refused) {
  if (name == kLostWeight) {
    return refused.Add(OperatorVerdict::kUnknown,
                       name +
                           " (torch.jit.optimize_for_inference, which leaves "
                           "weights out of the file: save the network before)");
  }
  refused.Add(JudgeOperator(name), name);
}

void RefuseUnsafe(const std::string& what, RefusedOperators& refused) {
  refused.Add(OperatorVerdict::kUnsafe, what);
}

/// The operator that a word of serialized code calls: `torch.name(…)` is one of
/// ATen, `ops.namespace.name` any. Empty for other words.
std::string OperatorOf(std::string_view word, std::string_view next) {
  const std::size_t dot = word.find('.');
  if (dot == std::string_view::npos) return "";
  const std::string_view first = word.substr(0, dot);
  const std::string_view rest = word.substr(dot + 1);
  const std::size_t second = rest.find('.');
  if (first == "torch" && second == std::string_view::npos && next == "(") {
    return "aten::" + std::string(rest);
  }
  if (first != "ops" || second == std::string_view::npos) return "";
  const std::string_view name = rest.substr(second + 1);
  return std::string(rest.substr(0, second)) +
         "::" + std::string(name.substr(0, name.find('.')));
}

void ScanText(const std::string& text, RefusedOperators& refused) {
  Tokens tokens(text);
  std::string_view word;
  for (Token token = tokens.Next(); !token.text.empty();
       token = tokens.Next()) {
    const std::string name = OperatorOf(word, token.text);
    if (!name.empty()) Judge(name, refused);
    word = token.text;
  }
  if (text.find("__setstate__") != std::string::npos) {
    RefuseUnsafe("__setstate__ (code that runs while loading)", refused);
  }
  if (text.find("torch.classes.") != std::string::npos) {
    RefuseUnsafe("torch.classes (written in C++)", refused);
  }
}

/// True when a value of `type` holds an object or a tuple, whose parts the
/// interpreter accesses by number.
bool HoldsParts(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::ClassType ||
      type.kind() == c10::TypeKind::InterfaceType ||
      type.kind() == c10::TypeKind::TupleType) {
    return true;
  }
  return std::ranges::any_of(type.containedTypes(), [](const auto& inner) {
    return HoldsParts(*inner);
  });
}

/// True for a cast that can make a value pass for another one with parts: it is
/// not checked at run time. From Optional or Union to the only member with
/// parts it cannot.
bool IsBlindCast(const torch::jit::Node& node) {
  if (node.kind() != c10::prim::unchecked_cast) return false;
  const c10::Type& to = *node.output()->type();
  const c10::Type& from = *node.input()->type();
  if (!HoldsParts(to) || from.isSubtypeOf(to)) return false;
  const bool has_members = from.kind() == c10::TypeKind::OptionalType ||
                           from.kind() == c10::TypeKind::UnionType;
  if (!has_members) return true;
  return std::ranges::any_of(from.containedTypes(), [&to](const auto& member) {
    return HoldsParts(*member) && !member->isSubtypeOf(to);
  });
}

void ScanBlock(const torch::jit::Block& block, RefusedOperators& refused) {
  for (const torch::jit::Node* node : block.nodes()) {
    Judge(node->kind().toQualString(), refused);
    if (IsBlindCast(*node)) {
      RefuseUnsafe("unchecked_cast to " + node->output()->type()->repr_str(),
                   refused);
    }
    for (const torch::jit::Block* inner : node->blocks()) {
      ScanBlock(*inner, refused);
    }
  }
}

}  // namespace

void RefuseUnsafeCode(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& code) {
  RefusedOperators refused;
  for (const auto& [record, text] : code) ScanText(text, refused);
  refused.ThrowIfAny(path);
}

void RefuseUnsafeFunctions(const std::string& path,
                           const torch::jit::CompilationUnit& unit) {
  RefusedOperators refused;
  for (torch::jit::Function* function : unit.get_functions()) {
    ScanBlock(*torch::jit::toGraphFunction(*function).graph()->block(),
              refused);
  }
  refused.ThrowIfAny(path);
}

}  // namespace foretell::torchscript
