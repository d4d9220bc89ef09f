#include "frontends/torchscript/loaded_values.h"

#include <fmt/core.h>

#include <unordered_set>
#include <utility>

#include "src/core/failure.h"

namespace foretell::torchscript {
namespace {

/// None stands for an absent tensor; LibTorch checks for that.
bool MayStandFor(const c10::IValue& value, const c10::Type& declared) {
  if (value.isNone() && declared.kind() == c10::TypeKind::TensorType) {
    return true;
  }
  return value.type()->isSubtypeOf(declared);
}

/// Recurses as deep as values nest.
class ValueCheck {
 public:
  explicit ValueCheck(std::string path) : path_(std::move(path)) {}

  void Visit(const c10::IValue& value, const c10::Type& declared) {
    if (!MayStandFor(value, declared)) {
      Refuse(fmt::format("is of type {}, its code says {}",
                         value.type()->annotation_str(),
                         declared.annotation_str()));
    }
    if (value.isObject()) return Slots(value.toObjectRef());
    if (value.isEnum()) return Number(value.toEnumHolder()->value());
    if (!value.isList() && !value.isTuple() && !value.isGenericDict()) return;
    if (!seen_.insert(value).second) return;
    if (value.isList()) {
      const c10::TypePtr type = value.toList().elementType();
      for (const c10::IValue& each : value.toListRef()) Visit(each, *type);
    } else if (value.isTuple()) {
      for (const c10::IValue& each : value.toTupleRef().elements()) {
        Visit(each, *each.type());
      }
    } else {
      Entries(value.toGenericDict());
    }
  }

 private:
  void Slots(const c10::ivalue::Object& object) {
    if (!objects_.insert(&object).second) return;
    const c10::ClassTypePtr type = object.type();
    if (object.slots().size() != type->numAttributes()) {
      Refuse(fmt::format("has {} slots, its class {} has {}",
                         object.slots().size(), type->annotation_str(),
                         type->numAttributes()));
    }
    const std::string outside = place_;
    for (std::size_t i = 0; i < type->numAttributes(); ++i) {
      place_ = fmt::format("{}.{}", type->annotation_str(),
                           type->getAttributeName(i));
      Visit(object.getSlot(i), *type->getAttribute(i));
    }
    place_ = outside;
  }

  void Entries(const c10::Dict<c10::IValue, c10::IValue>& dictionary) {
    for (const auto& entry : dictionary) {
      if (entry.key().isTensor()) Refuse("has a tensor for a key");
      Visit(entry.key(), *dictionary.keyType());
      Visit(entry.value(), *dictionary.valueType());
    }
  }

  void Number(const c10::IValue& value) const {
    if (value.isScalar() || value.isString()) return;
    Refuse("is an enumerator that is neither a number nor a text");
  }

  [[noreturn]] void Refuse(const std::string& why) const {
    throw Corrupt("{}: '{}' {}", path_, place_, why);
  }

  std::string path_;
  std::string place_ = "self";
  std::unordered_set<const c10::ivalue::Object*> objects_;
  c10::IValue::HashAliasedIValues seen_;
};

}  // namespace

void CheckLoadedValues(const std::string& path,
                       const torch::jit::Module& module) {
  ValueCheck(path).Visit(module._ivalue(), *module.type());
}

}  // namespace foretell::torchscript
