#include "frontends/torchscript/module_on_device.h"

#include <fmt/core.h>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "frontends/shared/random_weight.h"
#include "frontends/torchscript/rewriting.h"
#include "src/core/failure.h"

namespace foretell::torchscript {
namespace {

/// Longest path of an attribute, in bytes; a path grows with each container.
constexpr std::size_t kMaxPathLength = 4096;

/// Walks the module tree and replaces tensors. Those in containers come last:
/// recurrent layers also hold their parameters in a list, and the slots state
/// which of them are trainable.
class TensorReplacement {
 public:
  explicit TensorReplacement(const InstanceOptions& options)
      : options_(options) {}

  void Replace(const torch::jit::ModulePtr& module) {
    Visit(module, "");
    // Objects in containers may have containers of their own.
    for (std::size_t i = 0; i < containers_.size(); ++i) {
      const Slot slot = containers_[i];
      const c10::IValue value = slot.object->getSlot(slot.index);
      slot.object->setSlot(slot.index, Inside(value, slot.name));
    }
  }

  ModuleTensors Take() { return std::move(tensors_); }

 private:
  /// An attribute that may hold tensors further inside.
  struct Slot {
    torch::jit::ModulePtr object;
    std::size_t index;
    std::string name;
  };

  void Visit(const torch::jit::ModulePtr& object, const std::string& prefix) {
    if (!visited_.insert(object.get()).second) return;
    const c10::ClassTypePtr type = object->type();
    for (std::size_t i = 0; i < type->numAttributes(); ++i) {
      const std::string name = prefix + type->getAttributeName(i);
      const c10::IValue value = object->getSlot(i);
      if (value.isObject()) {
        Visit(value.toObject(), name + ".");
      } else if (value.isTensor() && value.toTensor().defined()) {
        const bool trainable = type->is_module() && type->is_parameter(i);
        object->setSlot(i, NewFor(value.toTensor(), name, trainable));
      } else if (value.isBool() && type->getAttributeName(i) == "training") {
        object->setSlot(i, options_.mode == Mode::kTraining);
      } else if (IsContainer(value)) {
        containers_.push_back({object, i, name});
      }
    }
  }

  static bool IsContainer(const c10::IValue& value) {
    return value.isList() || value.isTuple() || value.isGenericDict();
  }

  /// `value` with its tensors replaced; containers are changed in place. In a
  /// file containers may be shared or contain themselves.
  c10::IValue Inside(const c10::IValue& value, const std::string& name) {
    if (value.isTensor() && value.toTensor().defined()) {
      return NewFor(value.toTensor(), name, /*trainable=*/false);
    }
    if (value.isObject()) Visit(value.toObject(), name + ".");
    if (!IsContainer(value) || !seen_.insert(value).second) return value;
    if (name.size() > kMaxPathLength) {
      throw Unsupported("{}…: containers are nested too deep",
                        name.substr(0, 40));
    }
    if (value.isList()) {
      c10::List<c10::IValue> list = value.toList();
      for (std::size_t i = 0; i < list.size(); ++i) {
        list.set(i, Inside(list.get(i), fmt::format("{}.{}", name, i)));
      }
    } else if (value.isTuple()) {
      std::vector<c10::IValue> elements;
      for (const c10::IValue& element : value.toTupleRef().elements()) {
        elements.push_back(
            Inside(element, fmt::format("{}.{}", name, elements.size())));
      }
      value.toTuple()->setElements(std::move(elements));
    } else if (value.isGenericDict()) {
      for (const auto& entry : value.toGenericDict()) {
        entry.setValue(Inside(entry.value(), name + ".value"));
      }
    }
    return value;
  }

  at::Tensor NewFor(const at::Tensor& old, const std::string& name,
                    bool trainable) {
    at::Tensor& replacement = replaced_[old.unsafeGetTensorImpl()];
    if (replacement.defined()) return replacement;
    replacement = RandomWeight(old.sizes(), old.scalar_type(), options_);
    // Also in inference: the next replacement reads it from this tensor.
    replacement.set_requires_grad(trainable && old.requires_grad());
    auto& list = trainable ? tensors_.parameters : tensors_.buffers;
    list.push_back({name, replacement});
    keep_.push_back(old);
    return replacement;
  }

  const InstanceOptions& options_;
  ModuleTensors tensors_;
  std::unordered_map<const at::TensorImpl*, at::Tensor> replaced_;
  std::vector<at::Tensor> keep_;  ///< Keeps the addresses above unique.
  std::unordered_set<const void*> visited_;
  std::vector<Slot> containers_;
  c10::IValue::HashAliasedIValues seen_;
};

/// Whether `constant` is what a tracer makes from a number in Python code: an
/// int, a float or a complex.
bool WasNumber(const at::Tensor& constant) {
  const at::ScalarType type = constant.scalar_type();
  return constant.dim() == 0 && (type == at::kLong || type == at::kDouble ||
                                 type == at::kComplexDouble);
}

/// Moves constants, each only once if several nodes share it.
class ConstantsOnDevice {
 public:
  explicit ConstantsOnDevice(const InstanceOptions& options)
      : options_(options) {}

  /// Numbers stay on the host, where shapes are computed from them. Files do
  /// not state that they were numbers, which decides the type of a result:
  /// integers times 0.5 have the default type, times a tensor double.
  void Move(torch::jit::Node& node) {
    if (!HoldsTensor(node)) return;
    const at::Tensor constant = node.t(c10::attr::value);
    if (WasNumber(constant)) {
      constant.unsafeGetTensorImpl()->set_wrapped_number(true);
    } else if (constant.dim() > 0) {
      node.t_(c10::attr::value, Moved(constant));
    }
  }

 private:
  at::Tensor Moved(const at::Tensor& constant) {
    const auto [found, is_new] =
        moved_.try_emplace(constant.unsafeGetTensorImpl());
    if (is_new) {
      const auto type = StoredAs(constant.scalar_type(), options_.precision);
      found->second = {constant, constant.to(options_.device, type)};
    }
    return found->second.second;
  }

  const InstanceOptions& options_;
  /// Together with the constant itself, so that its address stays in use.
  std::unordered_map<const at::TensorImpl*, std::pair<at::Tensor, at::Tensor>>
      moved_;
};

}  // namespace

std::map<DType, std::int64_t> WeightElements(const torch::jit::Module& module) {
  std::map<DType, std::int64_t> elements;
  std::unordered_set<const at::TensorImpl*> counted;
  const auto add = [&](const at::Tensor& tensor) {
    if (!counted.insert(tensor.unsafeGetTensorImpl()).second) return;
    elements[ToDType(tensor.scalar_type())] += tensor.numel();
  };
  for (const at::Tensor& parameter : module.parameters()) add(parameter);
  for (const at::Tensor& buffer : module.buffers()) {
    const at::ScalarType type = buffer.scalar_type();
    const bool is_small = type == at::kChar || type == at::kByte;
    if (is_small && buffer.dim() >= 2) add(buffer);
  }
  return elements;
}

ModuleTensors ReplaceTensors(torch::jit::Module& module,
                             const InstanceOptions& options) {
  TensorReplacement replacement(options);
  replacement.Replace(module._ivalue());
  return replacement.Take();
}

bool HoldsTensor(const torch::jit::Node& node) {
  return node.kind() == c10::prim::Constant &&
         node.hasAttribute(c10::attr::value) &&
         node.kindOf(c10::attr::value) == torch::jit::AttributeKind::t;
}

void MoveConstants(const torch::jit::Module& module,
                   const InstanceOptions& options) {
  ConstantsOnDevice constants(options);
  ForEachNode(module, [&](torch::jit::Node& node) { constants.Move(node); });
}

}  // namespace foretell::torchscript
