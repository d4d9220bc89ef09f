// A TorchScript file is a program, so it is looked at before it runs.
//
// Namespaces are an allow-list: aten, prim, torchvision. Of aten's private
// operators, which begin with an underscore and check little, only those are
// allowed that exporters write. Of the others, the few that reach outside the
// process, that do not look at what they are given, or whose loops need not
// end, are refused by name. The text is scanned first: loading folds operators
// on numbers and texts, and runs `__setstate__`. The graphs of all functions
// are scanned afterwards: the text can be spelt in ways that a scan misses, a
// compiled graph cannot.

#include "frontends/torchscript/safety.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "foretell/error.h"
#include "frontends/torchscript/tokens.h"
#include "src/core/text.h"

namespace foretell::torchscript {
namespace {

constexpr std::string_view kNamespaces[] = {"aten", "prim", "torchvision"};

/// Private operators of aten that files name. Those with two underscores are
/// Python's own: __getitem__, __and__.
constexpr std::string_view kPrivate[] = {
    "_cast_Double",
    "_cast_Float",
    "_cast_Half",
    "_cast_Int",
    "_cast_Long",
    "_convolution",
    "_convolution_mode",
    "_get_tracing_state",
    "_infer_size",
    "_log_softmax",
    "_native_multi_head_attention",
    "_nested_tensor_from_mask",
    "_nested_tensor_from_mask_left_aligned",
    "_pack_padded_sequence",
    "_pad_packed_sequence",
    "_set_item",
    "_shape_as_tensor",
    "_softmax",
    "_to_copy",
    "_transformer_encoder_layer_fwd",
    "_unwrap_optional",
    "_upsample_bicubic2d_aa",
    "_upsample_bilinear2d_aa",
    "_weight_norm",
    "_weight_norm_interface"};

/// Operators of the allowed namespaces that read or write files or standard
/// streams, start other processes, call Python, or end the process; that
/// compute with what they are given unseen; and those whose loops numbers
/// decide, without end for NaN.
constexpr std::string_view kRefused[] = {
    "aten::binomial",  "aten::from_file",     "aten::load",
    "aten::save",      "aten::record_stream", "aten::segment_reduce",
    "prim::PythonOp",  "prim::awaitable",     "prim::fork",
    "prim::rpc_async", "prim::rpc_remote",    "prim::rpc_sync"};

/// Begins the last part of the names of special_laguerre_polynomial_l and its
/// kin, each of which makes as many steps as a number among its arguments says.
constexpr std::string_view kPolynomial = "_polynomial_";

template <typename Table>
bool IsIn(const Table& table, std::string_view name) {
  return std::ranges::find(table, name) != std::end(table);
}

bool IsAllowed(std::string_view name) {
  const std::size_t colons = name.find("::");
  if (colons == std::string_view::npos) return false;
  const std::string_view space = name.substr(0, colons);
  const std::string_view rest = name.substr(colons + 2);
  if (!IsIn(kNamespaces, space) || IsIn(kRefused, name)) return false;
  if (rest.find(kPolynomial) != std::string_view::npos) return false;
  return space != "aten" || !rest.starts_with('_') || rest.starts_with("__") ||
         IsIn(kPrivate, rest);
}

void ThrowIfAny(const std::string& path, const std::set<std::string>& names) {
  if (names.empty()) return;
  throw Error(ErrorCode::kUnsupported,
              path +
                  ": refused before running: operators outside ATen, or "
                  "that touch files, Python or other processes, trust what "
                  "they are given or need not end: " +
                  Joined(names));
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

void ScanText(const std::string& text, std::set<std::string>& refused) {
  Tokens tokens(text);
  std::string_view word;
  for (Token token = tokens.Next(); !token.text.empty();
       token = tokens.Next()) {
    const std::string name = OperatorOf(word, token.text);
    if (!name.empty() && !IsAllowed(name)) refused.insert(name);
    word = token.text;
  }
  if (text.find("__setstate__") != std::string::npos) {
    refused.insert("__setstate__ (code that runs while loading)");
  }
  if (text.find("torch.classes.") != std::string::npos) {
    refused.insert("torch.classes (written in C++)");
  }
}

/// True when a value of `type` holds an object or a tuple, whose parts the
/// interpreter takes by their numbers.
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

/// True for a cast that can make a value pass for another one with parts: at
/// run time nobody looks. From Optional or Union to the only member with parts
/// it cannot.
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

void ScanBlock(const torch::jit::Block& block, std::set<std::string>& refused) {
  for (const torch::jit::Node* node : block.nodes()) {
    const std::string name = node->kind().toQualString();
    if (!IsAllowed(name)) refused.insert(name);
    if (IsBlindCast(*node)) {
      refused.insert("unchecked_cast to " + node->output()->type()->repr_str());
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
