#include "frontends/torchscript/module_on_device.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

#include <unordered_map>
#include <unordered_set>

namespace foretell::torchscript {
namespace {

constexpr double kWeightDeviation = 0.02;

/// Walks the module tree and replaces tensors.
class Replacement {
 public:
  explicit Replacement(const InstanceOptions& options) : options_(options) {}

  void Visit(const torch::jit::ModulePtr& object, const std::string& prefix) {
    if (!visited_.insert(object.get()).second) return;
    const c10::ClassTypePtr type = object->type();
    for (std::size_t i = 0; i < type->numAttributes(); ++i) {
      const std::string name = prefix + type->getAttributeName(i);
      const c10::IValue value = object->getSlot(i);
      if (value.isObject()) {
        Visit(value.toObject(), name + ".");
      } else if (value.isTensor() && value.toTensor().defined()) {
        const bool trainable = type->is_parameter(i);
        object->setSlot(i, Replace(value.toTensor(), name, trainable));
      } else if (value.isBool() && type->getAttributeName(i) == "training") {
        object->setSlot(i, options_.mode == Mode::kTraining);
      }
    }
  }

  ModuleTensors Take() { return std::move(tensors_); }

 private:
  at::Tensor Replace(const at::Tensor& old, const std::string& name,
                     bool trainable) {
    at::Tensor& replacement = replaced_[old.unsafeGetTensorImpl()];
    if (replacement.defined()) return replacement;
    replacement = NewLike(old);
    if (trainable && old.requires_grad() && options_.mode == Mode::kTraining) {
      replacement.set_requires_grad(true);
    }
    auto& list = trainable ? tensors_.parameters : tensors_.buffers;
    list.push_back({name, replacement});
    keep_.push_back(old);
    return replacement;
  }

  at::Tensor NewLike(const at::Tensor& old) const {
    at::ScalarType type = old.scalar_type();
    if (type == at::kFloat) {
      type = ToScalarType(DType::kF32, options_.precision);
    }
    const auto on_device =
        at::TensorOptions().dtype(type).device(options_.device);
    if (options_.device.is_meta()) return at::empty(old.sizes(), on_device);
    if (!at::isFloatingType(type)) return at::zeros(old.sizes(), on_device);
    // A vector may be a variance: ones keep normalisation well defined.
    if (old.dim() <= 1) return at::ones(old.sizes(), on_device);
    return at::randn(old.sizes(), on_device).mul_(kWeightDeviation);
  }

  const InstanceOptions& options_;
  ModuleTensors tensors_;
  std::unordered_map<const at::TensorImpl*, at::Tensor> replaced_;
  std::vector<at::Tensor> keep_;  ///< Keeps the addresses above unique.
  std::unordered_set<const void*> visited_;
};

void MoveConstantsOf(torch::jit::Block& block, at::Device device) {
  for (torch::jit::Node* node : block.nodes()) {
    if (node->kind() == c10::prim::Constant &&
        node->hasAttribute(c10::attr::value) &&
        node->kindOf(c10::attr::value) == torch::jit::AttributeKind::t) {
      const at::Tensor constant = node->t(c10::attr::value);
      if (constant.dim() > 0) {
        node->t_(c10::attr::value, constant.to(device));
      }
    }
    for (torch::jit::Block* inner : node->blocks()) {
      MoveConstantsOf(*inner, device);
    }
  }
}

}  // namespace

ModuleTensors ReplaceTensors(torch::jit::Module& module,
                             const InstanceOptions& options) {
  Replacement replacement(options);
  replacement.Visit(module._ivalue(), "");
  return replacement.Take();
}

void MoveConstants(torch::jit::Module& module, at::Device device) {
  for (torch::jit::Function* function :
       module._ivalue()->compilation_unit()->get_functions()) {
    MoveConstantsOf(*torch::jit::toGraphFunction(*function).graph()->block(),
                    device);
  }
}

}  // namespace foretell::torchscript
