#include "frontends/torchscript/rewriting.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

namespace foretell::torchscript {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

void ForEachNodeOf(Block& block, const std::function<void(Node&)>& visit) {
  for (auto it = block.nodes().begin(); it != block.nodes().end();) {
    Node* const node = *it;
    ++it;
    for (Block* inner : node->blocks()) ForEachNodeOf(*inner, visit);
    visit(*node);
  }
}

}  // namespace

void ForEachNode(const torch::jit::Module& module,
                 const std::function<void(Node&)>& visit) {
  for (torch::jit::Function* function :
       module._ivalue()->compilation_unit()->get_functions()) {
    const auto graph = torch::jit::toGraphFunction(*function).graph();
    ForEachNodeOf(*graph->block(), visit);
  }
}

void ReplaceBy(const std::string& name, Node& node) {
  Node* const own = node.owningGraph()->create(
      c10::Symbol::fromQualString(name), node.inputs(), node.outputs().size());
  own->insertBefore(&node);
  own->copyMetadata(&node);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    own->output(i)->copyMetadata(node.output(i));
  }
  node.replaceAllUsesWith(own);
  node.destroy();
}

void InsertBefore(const std::string& name, Node& next,
                  at::ArrayRef<Value*> inputs) {
  Node* const own = next.owningGraph()->create(
      c10::Symbol::fromQualString(name), inputs, /*num_outputs=*/0);
  own->insertBefore(&next);
  own->copyMetadata(&next);
}

std::optional<c10::IValue> ConstantOf(const Value& value) {
  if (value.node()->kind() != c10::prim::Constant) return std::nullopt;
  return torch::jit::toIValue(&value);
}

std::string ClassNameOf(const c10::Type& type) {
  const auto* const named = type.castRaw<c10::ClassType>();
  if (named == nullptr || !named->name()) return "";
  std::string name;
  for (const std::string& atom : named->name()->atoms()) {
    if (atom.starts_with("___torch_mangle_")) continue;
    if (!name.empty()) name += '.';
    name += atom;
  }
  return name;
}

}  // namespace foretell::torchscript
