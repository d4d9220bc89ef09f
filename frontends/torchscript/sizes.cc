// A bound on the memory that a stranger's TorchScript takes outside tensors.
//
// Steps alone do not bound it: `s = s + s` doubles with every step, and
// `[0] * n` takes any amount in one. So nodes with containers among their
// inputs or outputs get a neighbour of ours that subtracts bytes from a budget.
// Reading counts as well as making, because a node that walks through a long
// list takes that much time. What is made is counted when it is there, which is
// soon enough for nodes whose output is no larger than their inputs; the others
// stand in a table with a rule that says beforehand how large it may be.
// Nothing is ever given back, so that the count does not depend on when
// LibTorch frees memory.
//
// Operators on strings have their charge inside (guarded_operators.h).
//
// Destructors recurse into containers, and values of type Any nest without end
// (`t = (t, 1)`), so how deep something is put into such a value counts too.

#include "frontends/torchscript/sizes.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/torchscript/charges.h"

namespace foretell::torchscript {
namespace {

// ---- Tables -----------------------------------------------------------------

/// A neighbour: an operator of ours without results.
struct Charge {
  const char* name;
  ChargeRule run;
};

constexpr Charge kContainers = {"foretell::charge_containers",
                                &ChargeContainers};
constexpr Charge kContent = {"foretell::charge_content", &ChargeContent};
constexpr Charge kSorting = {"foretell::charge_sorting", &ChargeSorting};
constexpr Charge kElement = {"foretell::charge_element", &ChargeElement};
constexpr Charge kEntry = {"foretell::charge_entry", &ChargeEntry};
constexpr Charge kDepth = {"foretell::charge_depth", &ChargeDepth};
constexpr Charge kCopies = {"foretell::charge_copies", &ChargeCopies};
constexpr Charge kStrings = {"foretell::charge_strings", &ChargeStrings};
constexpr Charge kUnbind = {"foretell::charge_unbind", &ChargeUnbind};
constexpr Charge kSplit = {"foretell::charge_split", &ChargeSplit};
constexpr Charge kChunks = {"foretell::charge_chunks", &ChargeChunks};
constexpr Charge kSections = {"foretell::charge_sections", &ChargeSections};
constexpr Charge kNumbers = {"foretell::charge_numbers", &ChargeNumbers};

constexpr Charge kCharges[] = {
    kContainers, kContent, kSorting, kEntry,  kElement,  kDepth,  kCopies,
    kStrings,    kUnbind,  kSplit,   kChunks, kSections, kNumbers};

/// When a rule applies.
enum class If {
  kContainer,  ///< A container is among the inputs.
  kAlways,
};

/// What is charged before a node, and with all its inputs. Nodes that are not
/// here pay for the containers among their inputs.
struct Rule {
  const char* node;
  If when;
  const Charge& charge;
};

constexpr Rule kRules[] = {
    {"aten::append", If::kContainer, kElement},
    {"aten::insert", If::kContainer, kContainers},
    {"aten::_set_item", If::kContainer, kEntry},
    {"aten::setdefault", If::kContainer, kEntry},
    {"aten::get", If::kContainer, kElement},
    {"aten::mul", If::kContainer, kCopies},
    {"aten::mul_", If::kContainer, kCopies},
    {"prim::rangelist", If::kAlways, kCopies},
    // The interpreter does not call its operator.
    {"aten::format", If::kAlways, kContent},
    {"prim::Print", If::kAlways, kContent},
    {"aten::tensor", If::kContainer, kContent},
    {"aten::as_tensor", If::kContainer, kContent},
    {"aten::sort", If::kContainer, kSorting},
    {"aten::sorted", If::kContainer, kSorting},
    {"aten::split", If::kAlways, kSplit},
    {"aten::unsafe_split", If::kAlways, kSplit},
    {"aten::split_copy", If::kAlways, kSplit},
    {"aten::chunk", If::kAlways, kChunks},
    {"aten::unsafe_chunk", If::kAlways, kChunks},
    {"aten::unbind", If::kAlways, kUnbind},
    {"aten::unbind_copy", If::kAlways, kUnbind},
    {"aten::tensor_split", If::kAlways, kSections},
    {"aten::hsplit", If::kAlways, kSections},
    {"aten::vsplit", If::kAlways, kSections},
    {"aten::dsplit", If::kAlways, kSections},
    {"prim::tolist", If::kAlways, kNumbers},
};

/// Nodes that neither read nor make what is in their containers.
constexpr std::string_view kHandsOn[] = {
    "aten::len",
    "aten::__getitem__",
    "aten::__is__",
    "aten::__isnot__",
    "prim::CallFunction",
    "prim::CallMethod",
    "prim::GetAttr",
    "prim::If",
    "prim::Loop",
    "prim::SetAttr",
    "prim::TupleIndex",
    "prim::TupleUnpack",
    "prim::ListUnpack",
    "prim::Uninitialized",
    "prim::unchecked_cast",
};

/// Nodes that put their inputs into a value.
constexpr std::string_view kPutsInto[] = {
    "aten::append",         "aten::insert",        "aten::_set_item",
    "aten::setdefault",     "prim::SetAttr",       "prim::ListConstruct",
    "prim::TupleConstruct", "prim::DictConstruct",
};

template <typename Table>
bool IsIn(const Table& table, std::string_view name) {
  return std::find(std::begin(table), std::end(table), name) != std::end(table);
}

// ---- The pass ---------------------------------------------------------------

/// True when a value of `type` is a container, or might be one.
bool MayBeContainer(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::TupleType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::AnyType:
    case c10::TypeKind::AnyListType:
    case c10::TypeKind::AnyTupleType:
    case c10::TypeKind::UnionType:
      return true;
    case c10::TypeKind::OptionalType:
      return MayBeContainer(*type.containedType(0));
    default:
      return false;
  }
}

/// True when values of `type` nest as deep as a program likes.
bool MayNest(const c10::Type& type) {
  const c10::TypeKind kind = type.kind();
  if (kind == c10::TypeKind::AnyType || kind == c10::TypeKind::ClassType ||
      kind == c10::TypeKind::InterfaceType) {
    return true;
  }
  const auto inside = type.containedTypes();
  return std::any_of(
      inside.begin(), inside.end(),
      [](const c10::TypePtr& contained) { return MayNest(*contained); });
}

using Inputs = std::vector<torch::jit::Value*>;

template <typename Condition>
Inputs Where(at::ArrayRef<torch::jit::Value*> values, const Condition& holds) {
  Inputs chosen;
  for (torch::jit::Value* value : values) {
    if (holds(*value->type())) chosen.push_back(value);
  }
  return chosen;
}

class Instrumentation {
 public:
  explicit Instrumentation(torch::jit::Graph& graph) : graph_(graph) {}

  void Visit(torch::jit::Block& block) {
    for (auto it = block.nodes().begin(); it != block.nodes().end();) {
      torch::jit::Node* node = *it;
      ++it;  // Past the neighbours to come.
      for (torch::jit::Block* inner : node->blocks()) Visit(*inner);
      const std::string name = node->kind().toQualString();
      if (name == "prim::Constant" || name.starts_with("foretell::")) continue;
      Before(node, name);
      After(node, name);
    }
  }

 private:
  torch::jit::Node* Neighbour(const Charge& charge, const Inputs& inputs) {
    return graph_.create(c10::Symbol::fromQualString(charge.name), inputs, 0);
  }

  void Before(torch::jit::Node* node, const std::string& name) {
    const Inputs containers = Where(node->inputs(), &MayBeContainer);
    const Rule* const rule =
        std::find_if(std::begin(kRules), std::end(kRules),
                     [&](const Rule& each) { return name == each.node; });
    const bool applies = rule != std::end(kRules) &&
                         (rule->when == If::kAlways || !containers.empty());
    if (applies) {
      Neighbour(rule->charge, node->inputs().vec())->insertBefore(node);
    } else if (!containers.empty() && !IsIn(kHandsOn, name) &&
               !IsIn(kPutsInto, name)) {
      Neighbour(kContainers, containers)->insertBefore(node);
    }
    if (!IsIn(kPutsInto, name)) return;
    // The first input of the others is what they put something into.
    const bool makes = name.ends_with("Construct");
    const Inputs nesting = Where(node->inputs().slice(makes ? 0 : 1), &MayNest);
    if (!nesting.empty()) Neighbour(kDepth, nesting)->insertBefore(node);
  }

  void After(torch::jit::Node* node, const std::string& name) {
    if (IsIn(kHandsOn, name) || name == "aten::append") return;
    const Inputs made = Where(node->outputs(), &MayBeContainer);
    if (!made.empty()) Neighbour(kContainers, made)->insertAfter(node);
    if (name == "prim::CreateObject") {
      Neighbour(kElement, {})->insertAfter(node);
    }
  }

  torch::jit::Graph& graph_;
};

void RegisterCharges() {
  static const std::vector<torch::jit::RegisterOperators> registered = [] {
    std::vector<torch::jit::RegisterOperators> operators;
    for (const Charge& charge : kCharges) {
      operators.push_back(torch::jit::RegisterOperators({torch::jit::Operator(
          std::string(charge.name) + "(...) -> ()",
          [run = charge.run](torch::jit::Stack& stack) {
            const auto count =
                static_cast<std::size_t>(torch::jit::pop(stack).toInt());
            run(torch::jit::last(stack, count));
            torch::jit::drop(stack, count);
          },
          // Keeps dead code elimination away.
          c10::AliasAnalysisKind::CONSERVATIVE)}));
    }
    return operators;
  }();
}

}  // namespace

void ChargeSizes(torch::jit::Module& module) {
  RegisterCharges();
  for (torch::jit::Function* function :
       module._ivalue()->compilation_unit()->get_functions()) {
    torch::jit::Graph& graph = *torch::jit::toGraphFunction(*function).graph();
    Instrumentation(graph).Visit(*graph.block());
  }
}

}  // namespace foretell::torchscript
