#include "frontends/torchscript/passes.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace foretell::torchscript {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

bool IsAttribute(const Value* value) {
  return value->node()->kind() == c10::prim::GetAttr;
}

/// Adds the method `name` to `container`, which calls its `child`'s `method`.
void AddForwarder(torch::jit::CompilationUnit& unit,
                  const c10::ClassTypePtr& container, const std::string& name,
                  const std::string& child, const std::string& method) {
  const c10::ClassTypePtr type =
      container->getAttribute(child)->expect<c10::ClassType>();
  const c10::FunctionSchema& schema = type->getMethod(method).getSchema();
  const auto graph = std::make_shared<Graph>();
  Value* const self = graph->addInput("self")->setType(container);
  std::vector<Value*> inputs = {graph->insertGetAttr(self, child)};
  for (std::size_t i = 1; i < schema.arguments().size(); ++i) {
    inputs.push_back(graph->addInput()->setType(schema.arguments()[i].type()));
  }
  Node* const call =
      graph->insertNode(graph->create(c10::prim::CallMethod, inputs, 1));
  call->s_(c10::attr::name, method);
  call->output()->setType(schema.returns().at(0).type());
  graph->registerOutput(call->output());
  container->addMethod(unit.create_function(
      c10::QualifiedName(*container->name(), name), graph));
}

/// Takes one step along the path of the object of `call`; false if that is not
/// an attribute of an attribute.
bool TakeStep(torch::jit::CompilationUnit& unit, Node* call) {
  Value* const object = call->input(0);
  if (!IsAttribute(object) || !IsAttribute(object->node()->input(0))) {
    return false;
  }
  Value* const parent = object->node()->input(0);
  const auto container = parent->type()->cast<c10::ClassType>();
  if (!container || !container->is_module() ||
      !object->type()->cast<c10::ClassType>()) {
    return false;
  }
  const std::string child = object->node()->s(c10::attr::name);
  const std::string method = call->s(c10::attr::name);
  const std::string name = child + ":" + method;
  if (container->findMethod(name) == nullptr) {
    AddForwarder(unit, container, name, child, method);
  }
  call->replaceInput(0, parent);
  call->s_(c10::attr::name, name);
  return true;
}

void RewriteCalls(torch::jit::CompilationUnit& unit, torch::jit::Block& block) {
  for (Node* node : block.nodes()) {
    for (torch::jit::Block* inner : node->blocks()) {
      RewriteCalls(unit, *inner);
    }
    if (node->kind() != c10::prim::CallMethod) continue;
    while (TakeStep(unit, node)) continue;
  }
}

}  // namespace

void CallThroughContainers(torch::jit::Module& module) {
  const auto unit = module._ivalue()->compilation_unit();
  std::vector<torch::jit::Function*> methods;
  std::set<c10::ClassTypePtr> types;
  for (const torch::jit::Module& part : module.modules()) {
    if (!types.insert(part.type()).second) continue;
    for (torch::jit::Function* method : part.type()->methods()) {
      methods.push_back(method);
    }
  }
  for (torch::jit::Function* method : methods) {
    const auto graph = torch::jit::toGraphFunction(*method).graph();
    RewriteCalls(*unit, *graph->block());
  }
}

}  // namespace foretell::torchscript
