// Activation checkpointing as a function of autograd.
//
// The forward pass runs without autograd, so only the inputs are saved.
// The backward pass runs the graph again on detached inputs, with autograd, and
// goes back through it at once: what it saves lives as long as PyTorch's
// recomputation keeps it. The other way, hooks on saved tensors, is what
// use_reentrant=False does in Python; it stops before the last operators whose
// results are not saved, so that PyTorch computes those once, this file twice.

#include "frontends/exported/checkpoint.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <utility>

#include "frontends/exported/interpreter.h"

namespace foretell::exported {
namespace {

using Values = std::vector<c10::IValue>;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr const char* kCall = "call";

bool HasTensor(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined();
}

/// Takes the tensors out of `values`; each is replaced by an undefined
/// tensor.
variable_list TakeTensors(Values& values) {
  variable_list tensors;
  for (c10::IValue& value : values) {
    if (!HasTensor(value)) continue;
    tensors.push_back(value.toTensor());
    value = at::Tensor();
  }
  return tensors;
}

/// Puts tensors back where TakeTensors took some.
Values PutTensors(Values values, const variable_list& tensors) {
  std::size_t next = 0;
  for (c10::IValue& value : values) {
    if (value.isTensor() && next < tensors.size()) value = tensors[next++];
  }
  return values;
}

/// What both passes need in addition to the tensors.
struct CheckpointedCall final : torch::CustomClassHolder {
  Interpreter* interpreter = nullptr;
  std::shared_ptr<const Graph> graph;
  Values inputs;   ///< Without their tensors.
  Values results;  ///< Likewise.
};

/// Gradients of `leaves`, undefined for those that need none.
variable_list GradientsOf(const variable_list& outputs,
                          const variable_list& given,
                          const variable_list& leaves) {
  variable_list trained;
  for (const at::Tensor& leaf : leaves) {
    if (leaf.requires_grad()) trained.push_back(leaf);
  }
  variable_list found(trained.size());
  if (!outputs.empty() && !trained.empty()) {
    found = torch::autograd::grad(outputs, trained, given,
                                  /*retain_graph=*/false,
                                  /*create_graph=*/false,
                                  /*allow_unused=*/true);
  }
  variable_list gradients;
  std::size_t next = 0;
  for (const at::Tensor& leaf : leaves) {
    gradients.push_back(leaf.requires_grad() ? std::move(found[next++])
                                             : at::Tensor());
  }
  return gradients;
}

struct Checkpointed : torch::autograd::Function<Checkpointed> {
  static variable_list forward(AutogradContext* context,
                               const c10::intrusive_ptr<CheckpointedCall>& call,
                               at::TensorList tensors) {
    context->save_for_backward(tensors.vec());
    context->saved_data[kCall] = c10::IValue::make_capsule(call);
    call->results = call->interpreter->Run(
        *call->graph, PutTensors(call->inputs, tensors.vec()));
    return TakeTensors(call->results);
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto call = c10::static_intrusive_pointer_cast<CheckpointedCall>(
        context->saved_data[kCall].toCapsule());
    variable_list leaves;
    for (const at::Tensor& saved : context->get_saved_variables()) {
      leaves.push_back(saved.detach().set_requires_grad(saved.requires_grad()));
    }
    const at::AutoGradMode records(true);
    Values results =
        call->interpreter->Run(*call->graph, PutTensors(call->inputs, leaves));
    variable_list outputs;
    variable_list given;
    const variable_list tensors = TakeTensors(results);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!gradients[i].defined() || !tensors[i].requires_grad()) continue;
      outputs.push_back(tensors[i]);
      given.push_back(std::move(gradients[i]));
    }
    variable_list found = GradientsOf(outputs, given, leaves);
    found.insert(found.begin(), at::Tensor());  // Of `call`, which has none.
    return found;
  }
};

}  // namespace

Values RunCheckpointed(Interpreter& interpreter,
                       std::shared_ptr<const Graph> graph, Values inputs) {
  if (!at::GradMode::is_enabled()) {
    return interpreter.Run(*graph, std::move(inputs));
  }
  auto call = c10::make_intrusive<CheckpointedCall>();
  call->interpreter = &interpreter;
  call->graph = std::move(graph);
  const variable_list tensors = TakeTensors(inputs);
  call->inputs = std::move(inputs);
  const variable_list results =
      Checkpointed::apply(call, at::TensorList(tensors));
  return PutTensors(std::move(call->results), results);
}

}  // namespace foretell::exported
