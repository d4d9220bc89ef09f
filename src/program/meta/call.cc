#include "src/program/meta/call.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>

#include <utility>

namespace foretell::meta {
namespace {

bool HoldsTensor(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined();
}

bool SameAlias(const c10::AliasInfo& a, const c10::AliasInfo& b) {
  return a.beforeSets() == b.beforeSets();
}

void ResizeOutput(const at::Tensor& out, const TensorSpec& spec) {
  if (out.sizes().equals(spec.sizes)) return;
  out.resize_(spec.sizes);
  if (!spec.strides.empty()) {
    out.unsafeGetTensorImpl()->set_sizes_and_strides(spec.sizes, spec.strides);
  }
}

}  // namespace

TensorSpec Contiguous(at::IntArrayRef sizes, at::ScalarType dtype) {
  return {sizes.vec(), dtype, {}};
}

TensorSpec InFormat(at::IntArrayRef sizes, at::ScalarType dtype,
                    at::MemoryFormat format) {
  TensorSpec spec = Contiguous(sizes, dtype);
  if (format == at::MemoryFormat::ChannelsLast && sizes.size() == 4) {
    spec.strides = c10::get_channels_last_strides_2d(sizes);
  } else if (format == at::MemoryFormat::ChannelsLast3d && sizes.size() == 5) {
    spec.strides = c10::get_channels_last_strides_3d(sizes);
  }
  return spec;
}

TensorSpec Like(const at::Tensor& tensor) {
  return Like(tensor, tensor.scalar_type());
}

TensorSpec Like(const at::Tensor& tensor, at::ScalarType dtype) {
  TensorSpec spec = Contiguous(tensor.sizes(), dtype);
  if (tensor.is_contiguous()) return spec;
  spec.strides =
      tensor.is_non_overlapping_and_dense()
          ? tensor.strides().vec()
          : at::infer_dense_strides(tensor.sizes(), tensor.strides());
  return spec;
}

at::Tensor Allocate(const TensorSpec& spec) {
  if (spec.strides.empty()) {
    return at::detail::empty_meta(spec.sizes, spec.dtype);
  }
  return at::detail::empty_strided_meta(spec.sizes, spec.strides, spec.dtype);
}

Call::Call(const c10::OperatorHandle& op, torch::jit::Stack& stack)
    : schema_(op.schema()),
      stack_(stack),
      first_(stack.size() - op.schema().arguments().size()) {}

const c10::IValue* Call::Find(std::string_view name) const {
  const std::vector<c10::Argument>& arguments = schema_.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == name) return &stack_[first_ + i];
  }
  return nullptr;
}

const c10::IValue& Call::Get(std::string_view name) const {
  const c10::IValue* value = Find(name);
  TORCH_CHECK(value != nullptr && !value->isNone(), schema_.name(),
              ": argument '", std::string(name), "' is missing");
  return *value;
}

bool Call::Has(std::string_view name) const {
  const c10::IValue* value = Find(name);
  if (value == nullptr || value->isNone()) return false;
  return !value->isTensor() || value->toTensor().defined();
}

bool Call::IsTensor(std::string_view name) const {
  const c10::IValue* value = Find(name);
  return value != nullptr && HoldsTensor(*value);
}

bool Call::IsList(std::string_view name) const {
  const c10::IValue* value = Find(name);
  return value != nullptr && value->isList();
}

const at::Tensor& Call::Tensor(std::string_view name) const {
  return Get(name).toTensor();
}

at::Tensor Call::TensorOrUndefined(std::string_view name) const {
  return Has(name) ? Tensor(name) : at::Tensor();
}

const at::Tensor& Call::FirstTensor() const {
  for (std::size_t i = first_; i < stack_.size(); ++i) {
    if (HoldsTensor(stack_[i])) return stack_[i].toTensor();
  }
  TORCH_CHECK(false, schema_.name(), ": no argument is a tensor");
}

std::vector<at::Tensor> Call::ReadTensors() const {
  std::vector<at::Tensor> tensors;
  const std::vector<c10::Argument>& arguments = schema_.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (IsOutArgument(arguments[i])) continue;
    const c10::IValue& value = stack_[first_ + i];
    if (HoldsTensor(value)) tensors.push_back(value.toTensor());
  }
  return tensors;
}

std::vector<at::Tensor> Call::TensorList(std::string_view name) const {
  return Get(name).toTensorVector();
}

std::vector<at::Tensor> Call::OptionalTensors(std::string_view name) const {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : Get(name).toListRef()) {
    tensors.push_back(value.isTensor() ? value.toTensor() : at::Tensor());
  }
  return tensors;
}

std::int64_t Call::Int(std::string_view name) const {
  return Get(name).toInt();
}

std::int64_t Call::Int(std::string_view name, std::int64_t fallback) const {
  return Has(name) ? Int(name) : fallback;
}

double Call::Double(std::string_view name, double fallback) const {
  return Has(name) ? Get(name).toScalar().toDouble() : fallback;
}

bool Call::Bool(std::string_view name, bool fallback) const {
  return Has(name) ? Get(name).toBool() : fallback;
}

at::Scalar Call::Scalar(std::string_view name) const {
  return Get(name).toScalar();
}

std::string Call::Word(std::string_view name) const {
  return Get(name).toStringRef();
}

Sizes Call::Ints(std::string_view name) const {
  if (!Has(name)) return {};
  const c10::IValue& value = Get(name);
  if (value.isInt()) return {value.toInt()};
  return value.toIntVector();
}

Sizes Call::Ints(std::string_view name, std::size_t rank,
                 std::int64_t fallback) const {
  Sizes values = Ints(name);
  if (values.empty()) values.assign(rank, fallback);
  if (values.size() == 1) values.assign(rank, values.front());
  TORCH_CHECK(values.size() == rank, schema_.name(), ": argument '",
              std::string(name), "' has ", values.size(), " entries, expected ",
              rank);
  return values;
}

std::vector<bool> Call::Bools(std::string_view name) const {
  const c10::List<bool> list = Get(name).toBoolList();
  return {list.begin(), list.end()};
}

std::optional<at::ScalarType> Call::DType(std::string_view name) const {
  if (!Has(name)) return std::nullopt;
  return Get(name).toScalarType();
}

at::Tensor Call::NextOutput() const {
  const std::size_t index = results_.size();
  if (index >= schema_.returns().size()) return {};
  const c10::AliasInfo* alias = schema_.returns()[index].alias_info();
  if (alias == nullptr || !alias->isWrite()) return {};
  const std::vector<c10::Argument>& arguments = schema_.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::AliasInfo* other = arguments[i].alias_info();
    if (other != nullptr && SameAlias(*alias, *other)) {
      return stack_[first_ + i].toTensor();
    }
  }
  return {};
}

at::Tensor Call::Return(const TensorSpec& spec) {
  at::Tensor result = NextOutput();
  if (result.defined()) {
    ResizeOutput(result, spec);
  } else {
    result = Allocate(spec);
  }
  results_.emplace_back(result);
  return result;
}

void Call::Return(at::Tensor tensor) {
  results_.emplace_back(std::move(tensor));
}

void Call::ReturnValue(c10::IValue value) {
  results_.push_back(std::move(value));
}

void Call::ReturnIf(bool wanted, const TensorSpec& spec) {
  if (wanted) {
    Return(spec);
  } else {
    Return(at::Tensor());
  }
}

void Call::Finish() {
  TORCH_CHECK(results_.size() == schema_.returns().size(), schema_.name(),
              ": the meta kernel made ", results_.size(), " results, expected ",
              schema_.returns().size());
  stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(first_),
               stack_.end());
  for (c10::IValue& result : results_) stack_.push_back(std::move(result));
}

}  // namespace foretell::meta
