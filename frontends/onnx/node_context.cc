#include "frontends/onnx/node_context.h"

#include <algorithm>

#include "frontends/onnx/evaluator.h"
#include "frontends/onnx/literals.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

bool IsHostTensor(const at::Tensor& tensor) {
  return !tensor.defined() || tensor.device().is_cpu();
}

bool IsOnHost(const Value& value) {
  if (const auto* tensor = std::get_if<at::Tensor>(&value)) {
    return IsHostTensor(*tensor);
  }
  if (const auto* sequence = std::get_if<Sequence>(&value)) {
    return std::all_of(sequence->begin(), sequence->end(), IsHostTensor);
  }
  return true;
}

/// Widens `extents`, counted from the last dimension, to hold `sizes` too.
void Broadcast(at::IntArrayRef sizes, std::vector<std::int64_t>& extents) {
  extents.resize(std::max(extents.size(), sizes.size()), 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::int64_t& extent = extents[i];
    extent = std::max(extent, sizes[sizes.size() - 1 - i]);
  }
}

bool IsTooLargeForHost(const std::vector<std::int64_t>& extents) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) {
    // A tensor without elements may have any extent in addition to its 0.
    if (extent > kMaxHostElements / elements) return true;
    elements *= std::max<std::int64_t>(extent, 1);
  }
  return false;
}

const Value kAbsent;

}  // namespace

NodeContext::NodeContext(Evaluator& evaluator, Frame& frame, const Node& node,
                         std::int64_t opset)
    : evaluator_(evaluator), frame_(frame), node_(node), opset_(opset) {
  on_host_ = true;
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < num_inputs(); ++i) {
    on_host_ = on_host_ && IsOnHost(Raw(i));
    const auto* tensor = std::get_if<at::Tensor>(&Raw(i));
    if (tensor != nullptr && tensor->defined()) {
      Broadcast(tensor->sizes(), extents);
    }
  }
  on_host_ = on_host_ && !IsTooLargeForHost(extents);
}

bool NodeContext::Has(std::size_t i) const {
  return !std::holds_alternative<std::monostate>(Raw(i));
}

bool NodeContext::Wants(std::size_t i) const {
  return i < node_.outputs.size() && !node_.outputs[i].empty();
}

const Value& NodeContext::Raw(std::size_t i) const {
  if (i >= node_.inputs.size() || node_.inputs[i].empty()) return kAbsent;
  const Value* value = frame_.Find(node_.inputs[i]);
  if (value == nullptr) {
    Fail(ErrorCode::kCorrupt, "input '{}' is defined by no node",
         node_.inputs[i]);
  }
  return *value;
}

at::Tensor NodeContext::Tensor(std::size_t i) {
  at::Tensor tensor = OptionalTensor(i);
  if (!tensor.defined()) {
    Fail(ErrorCode::kCorrupt, "input {} is absent or not a tensor", i);
  }
  return tensor;
}

at::Tensor NodeContext::OptionalTensor(std::size_t i) {
  const auto* tensor = std::get_if<at::Tensor>(&Raw(i));
  if (tensor == nullptr) return {};
  return on_host_ ? *tensor : evaluator_.OnDevice(*tensor);
}

at::Tensor NodeContext::Operand(std::size_t i) {
  const auto* tensor = std::get_if<at::Tensor>(&Raw(i));
  if (tensor != nullptr && IsHostTensor(*tensor) && tensor->numel() == 1 &&
      tensor->dim() == 0) {
    return *tensor;
  }
  return Tensor(i);
}

at::Tensor NodeContext::Host(std::size_t i) {
  const auto* tensor = std::get_if<at::Tensor>(&Raw(i));
  if (tensor == nullptr || !tensor->defined()) {
    Fail(ErrorCode::kCorrupt, "input {} is absent or not a tensor", i);
  }
  if (tensor->device().is_cpu()) return tensor->contiguous();
  const TensorLiteral* literal = evaluator_.LiteralOf(*tensor);
  if (literal != nullptr &&
      literal->payload == TensorLiteral::Payload::kInline) {
    return HostTensor(*literal, Precision::kFp32);
  }
  Fail(ErrorCode::kUnsupported,
       "the value of input '{}' depends on data, which a trace without "
       "arithmetic does not have; use --trace cpu",
       node_.inputs[i]);
}

bool NodeContext::IsHost(std::size_t i) const {
  const auto* tensor = std::get_if<at::Tensor>(&Raw(i));
  if (tensor == nullptr || !tensor->defined()) return false;
  if (tensor->device().is_cpu()) return true;
  const TensorLiteral* literal = evaluator_.LiteralOf(*tensor);
  return literal != nullptr &&
         literal->payload == TensorLiteral::Payload::kInline;
}

std::vector<std::int64_t> NodeContext::Ints(std::size_t i) {
  const at::Tensor values = Host(i).to(at::kLong).contiguous();
  const auto* data = values.data_ptr<std::int64_t>();
  return {data, data + values.numel()};
}

std::vector<double> NodeContext::Doubles(std::size_t i) {
  const at::Tensor values = Host(i).to(at::kDouble).contiguous();
  const auto* data = values.data_ptr<double>();
  return {data, data + values.numel()};
}

std::int64_t NodeContext::Int(std::size_t i) {
  const std::vector<std::int64_t> values = Ints(i);
  Check(values.size() == 1, "input {} has {}, expected 1", i,
        Counted(values.size(), "element"));
  return values.front();
}

double NodeContext::Double(std::size_t i) {
  const std::vector<double> values = Doubles(i);
  Check(values.size() == 1, "input {} has {}, expected 1", i,
        Counted(values.size(), "element"));
  return values.front();
}

Sequence NodeContext::SequenceInput(std::size_t i) {
  const auto* sequence = std::get_if<Sequence>(&Raw(i));
  if (sequence == nullptr) {
    Fail(ErrorCode::kCorrupt, "input {} is absent or not a sequence", i);
  }
  evaluator_.CountCopies(sequence->size());
  if (on_host_) return *sequence;
  Sequence on_device;
  for (const at::Tensor& tensor : *sequence) {
    on_device.push_back(evaluator_.OnDevice(tensor));
  }
  return on_device;
}

const Attribute* NodeContext::FindAttribute(std::string_view name) const {
  const Attribute* attribute = node_.FindAttribute(name);
  if (attribute == nullptr || attribute->ref_attr_name.empty()) {
    return attribute;
  }
  return frame_.FindBoundAttribute(attribute->ref_attr_name);
}

bool NodeContext::HasAttribute(std::string_view name) const {
  return FindAttribute(name) != nullptr;
}

const Attribute& NodeContext::RequireAttribute(std::string_view name,
                                               Attribute::Kind kind) const {
  const Attribute* attribute = FindAttribute(name);
  if (attribute == nullptr) {
    Fail(ErrorCode::kCorrupt, "attribute '{}' is missing", name);
  }
  if (attribute->kind != kind) {
    Fail(ErrorCode::kCorrupt, "attribute '{}' is of kind {}, expected {}", name,
         static_cast<int>(attribute->kind), static_cast<int>(kind));
  }
  return *attribute;
}

std::int64_t NodeContext::IntAttribute(std::string_view name,
                                       std::int64_t fallback) const {
  if (!HasAttribute(name)) return fallback;
  return RequireAttribute(name, Attribute::Kind::kInt).i;
}

double NodeContext::FloatAttribute(std::string_view name,
                                   double fallback) const {
  if (!HasAttribute(name)) return fallback;
  return static_cast<double>(RequireAttribute(name, Attribute::Kind::kFloat).f);
}

std::string NodeContext::StringAttribute(std::string_view name,
                                         std::string_view fallback) const {
  if (!HasAttribute(name)) return std::string(fallback);
  return RequireAttribute(name, Attribute::Kind::kString).s;
}

std::vector<std::int64_t> NodeContext::IntsAttribute(
    std::string_view name, std::vector<std::int64_t> fallback) const {
  if (!HasAttribute(name)) return fallback;
  return RequireAttribute(name, Attribute::Kind::kInts).ints;
}

std::vector<double> NodeContext::FloatsAttribute(
    std::string_view name, std::vector<double> fallback) const {
  if (!HasAttribute(name)) return fallback;
  const auto& floats = RequireAttribute(name, Attribute::Kind::kFloats).floats;
  return {floats.begin(), floats.end()};
}

at::ScalarType NodeContext::TypeOf(std::int64_t onnx_code) const {
  return TypeOf(onnx_code, device());
}

at::ScalarType NodeContext::TypeOf(std::int64_t onnx_code,
                                   at::Device place) const {
  const bool exact = place.is_cpu() && !evaluator_.options().device.is_cpu();
  return ScalarTypeOf(
      onnx_code, exact ? Precision::kFp32 : evaluator_.options().precision);
}

at::Device NodeContext::device() const {
  return on_host_ ? at::Device(at::kCPU) : evaluator_.options().device;
}

at::Device NodeContext::PlaceFor(std::int64_t num_elements) const {
  if (num_elements > kMaxHostElements) return evaluator_.options().device;
  return device();
}

bool NodeContext::OnHost() const { return on_host_; }

bool NodeContext::IsTraining() const {
  return evaluator_.options().mode == Mode::kTraining;
}

at::Tensor NodeContext::Literal(const TensorLiteral& literal) const {
  return evaluator_.Literal(literal);
}

void NodeContext::Set(std::size_t i, Value value) {
  if (!Wants(i)) return;
  auto* tensor = std::get_if<at::Tensor>(&value);
  if (tensor != nullptr && tensor->defined() && tensor->device().is_cpu() &&
      tensor->numel() > kMaxHostElements) {
    value = evaluator_.OnDevice(*tensor);
  }
  frame_.Define(node_.outputs[i], std::move(value));
}

std::vector<Value> NodeContext::Run(const Graph& body,
                                    std::vector<Value> inputs) {
  return evaluator_.RunGraph(body, &frame_, frame_.opsets(), std::move(inputs));
}

void NodeContext::Throw(ErrorCode code, const std::string& message) const {
  throw Error(code, evaluator_.Place(node_) + message);
}

}  // namespace foretell::onnx
