// Which value of the graph a tensor is.
//
// A tensor object that the recorder has seen is known by its address. Autograd
// hands saved tensors out as new objects: those are recognised by their storage
// and shape. What is left was made outside the recording and becomes a source.

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <ranges>

#include "src/program/operator_call.h"
#include "src/program/recorder.h"

namespace foretell {

bool Recorder::BelongsToTrace(const at::Tensor& tensor) const {
  if (tensor.device().type() != device_) return false;
  if (device_ == c10::DeviceType::Meta) return true;
  if (tracked_.count(tensor.unsafeGetTensorImpl()) != 0) return true;
  if (!tensor.has_storage()) return false;
  const std::int32_t storage =
      LedgerNumber(tensor.storage().data_ptr().get_context(), device_);
  if (storage < 0) return false;
  // State made in the warm-up step has no value yet.
  return values_in_.count(storage) != 0 ||
         builder_.storage(storage).role == TensorRole::kOptimizerState;
}

bool Recorder::TouchesTrace(const torch::jit::Stack& stack,
                            size_t first) const {
  bool touches = false;
  for (size_t i = first; i < stack.size(); ++i) {
    ForEachTensor(stack[i], [&](const at::Tensor& tensor) {
      touches = touches || BelongsToTrace(tensor);
    });
  }
  return touches;
}

std::int32_t Recorder::NumberOf(const at::Tensor& tensor) {
  if (!tensor.has_storage()) return -1;
  const std::int32_t number =
      LedgerNumber(tensor.storage().data_ptr().get_context(), device_);
  if (number >= 0) {
    builder_.Grow(number, static_cast<std::int64_t>(tensor.storage().nbytes()));
  }
  return number;
}

void Recorder::NoteSizes(const c10::FunctionSchema& schema,
                         const torch::jit::Stack& stack) {
  for (size_t i = stack.size() - schema.returns().size(); i < stack.size();
       ++i) {
    ForEachTensor(stack[i], [&](const at::Tensor& tensor) {
      if (tensor.device().type() == device_) NumberOf(tensor);
    });
  }
}

StorageId Recorder::StorageOf(const at::Tensor& tensor) {
  const std::int32_t known = NumberOf(tensor);
  if (known >= 0) return known;
  const c10::StorageImpl* address =
      tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
  const auto found = foreign_.find(address);
  if (found != foreign_.end()) return found->second.second;
  const StorageId storage =
      builder_.AddStorage(TypeOf(tensor).Bytes(), TensorRole::kBuffer);
  living_.resize(static_cast<size_t>(storage) + 1, true);
  builder_.Allocate(storage, CurrentNode());
  if (address != nullptr) {
    foreign_.emplace(address, std::pair(tensor.storage(), storage));
  }
  return storage;
}

void Recorder::Track(const at::Tensor& tensor, ValueId value) {
  tracked_.insert_or_assign(
      tensor.unsafeGetTensorImpl(),
      Tracked{c10::weak_intrusive_ptr<at::TensorImpl>(tensor.getIntrusivePtr()),
              value});
  values_in_[builder_.value(value).storage].push_back(value);
}

std::string Recorder::FreshName(const std::string& wanted) {
  int& uses = names_[wanted];
  ++uses;
  return uses == 1 ? wanted : FreshName(fmt::format("{}.{}", wanted, uses));
}

ValueId Recorder::AddSource(const std::string& name, const at::Tensor& tensor) {
  const StorageId storage = StorageOf(tensor);
  const ValueId value = builder_.AddSource(FreshName(name), TypeOf(tensor),
                                           storage, StridesOf(tensor));
  Track(tensor, value);
  return value;
}

ValueId Recorder::AddView(ValueId base, const at::Tensor& tensor) {
  NodeSpec spec{.target = "as_strided", .inputs = {base}};
  spec.attributes = {{"size", tensor.sizes().vec()},
                     {"stride", tensor.strides().vec()},
                     {"storage_offset", tensor.storage_offset()},
                     {std::string(kSavedAttribute), true}};
  spec.phase = phase_;
  if (scope_) spec.scope = scope_();
  RecordResults(builder_.AddNode(std::move(spec)), {tensor});
  return tracked_.at(tensor.unsafeGetTensorImpl()).value;
}

ValueId Recorder::ValueOf(const at::Tensor& tensor) {
  const auto found = tracked_.find(tensor.unsafeGetTensorImpl());
  if (found != tracked_.end()) return found->second.value;
  const StorageId storage = StorageOf(tensor);
  const std::vector<ValueId>& candidates = values_in_[storage];
  for (auto it = candidates.rbegin(); it != candidates.rend(); ++it) {
    if (builder_.value(*it).type.shape == tensor.sizes().vec()) return *it;
  }
  // A view that was made outside the recording, as of a parameter's slices, is
  // a source of its own. One that an operator made inside and saved for its
  // backward is the result; it needs a node where dimensions are named that the
  // result lacks. The networks are trained on graphs without the other nodes.
  const bool is_source =
      candidates.empty() || builder_.value(candidates.back()).producer == kNone;
  if (!is_source) {
    const ValueId result = candidates.back();
    const auto rank = std::ssize(builder_.value(result).type.shape);
    return rank < tensor.dim() ? AddView(result, tensor) : result;
  }
  const std::string base =
      candidates.empty()
          ? std::string(TensorRoleName(builder_.storage(storage).role))
          : builder_.value(candidates.back()).name + ".view";
  const ValueId value = builder_.AddSource(FreshName(base), TypeOf(tensor),
                                           storage, StridesOf(tensor));
  Track(tensor, value);
  return value;
}

InnerCalls::Known Recorder::Know(const at::Tensor& tensor) {
  if (tensor.device().type() != device_ || !tensor.has_storage()) return {};
  StorageId storage = NumberOf(tensor);
  const auto found = tracked_.find(tensor.unsafeGetTensorImpl());
  if (found != tracked_.end()) {
    const ValueId value = found->second.value;
    return {value, builder_.value(value).storage};
  }
  if (storage < 0) {
    const auto foreign = foreign_.find(tensor.storage().unsafeGetStorageImpl());
    if (foreign == foreign_.end()) return {};
    storage = foreign->second.second;
  }
  const auto candidates = values_in_.find(storage);
  if (candidates != values_in_.end()) {
    const TensorType type = TypeOf(tensor);
    for (const ValueId value : candidates->second | std::views::reverse) {
      if (builder_.value(value).type == type) return {value, storage};
    }
  }
  return {kNone, storage};
}

bool Recorder::IsResult(const at::Tensor& tensor) {
  return builder_.value(ValueOf(tensor)).producer != kNone;
}

void Recorder::MarkInput(const at::Tensor& tensor) {
  builder_.MarkInput(ValueOf(tensor));
}

void Recorder::MarkOutput(const at::Tensor& tensor) {
  builder_.MarkOutput(ValueOf(tensor));
}

void Recorder::SetRoleOf(const at::Tensor& tensor, TensorRole role) {
  builder_.SetRole(StorageOf(tensor), role);
}

void Recorder::ChangeRoleOfLiving(TensorRole from, TensorRole to) {
  for (StorageId id = 0; id < static_cast<StorageId>(living_.size()); ++id) {
    if (living_[static_cast<size_t>(id)] && builder_.storage(id).role == from) {
      builder_.SetRole(id, to);
    }
  }
}

void Recorder::SetParameterElements(std::int64_t elements) {
  builder_.SetParameterElements(elements);
}

}  // namespace foretell
