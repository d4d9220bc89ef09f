// Executes an ONNX graph node by node with at:: calls.
//
// A value dies right after the last node that reads it, which is when eager
// PyTorch code that reassigns its variables would drop it. Small constants and
// shape arithmetic stay on the host with their values; floating-point weights
// and everything computed from inputs live on the device.
#include "frontends/onnx/evaluator.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "frontends/onnx/literals.h"
#include "frontends/onnx/node_context.h"
#include "frontends/onnx/reader/constants.h"
#include "frontends/onnx/reader/liveness.h"
#include "src/core/failure.h"
#include "src/core/libtorch_message.h"
#include "src/core/numbers.h"
#include "src/program/recorder.h"

namespace foretell::onnx {
namespace {

/// Nesting of subgraphs and function calls beyond which a file is refused.
constexpr int kMaxDepth = 64;
/// Most nodes that a run may execute. Those of a loop over shape arithmetic
/// leave no operator that a trace would count.
constexpr std::int64_t kMaxNodes = 200'000;
/// Copying this many elements of a sequence counts as a node.
constexpr std::int64_t kElementsPerNode = 256;
/// Weights whose file has no values are drawn with this deviation, which keeps
/// activations of deep networks finite.
constexpr double kWeightDeviation = 0.02;
/// Floating-point constants up to this size and rank 1 may take part in shape
/// arithmetic (scales of Resize) and so also stay on the host.
constexpr std::int64_t kMaxHostFloats = 16;

bool MayStayOnHost(const TensorLiteral& literal) {
  if (literal.payload != TensorLiteral::Payload::kInline) return false;
  if (!IsFloatLiteral(literal)) return true;
  return literal.dims.size() <= 1 && literal.NumElements() <= kMaxHostFloats;
}

/// Counts one level of nesting while it lives.
class DepthScope {
 public:
  explicit DepthScope(int& depth) : depth_(depth) { ++depth_; }
  ~DepthScope() { --depth_; }
  DepthScope(const DepthScope&) = delete;
  DepthScope& operator=(const DepthScope&) = delete;

 private:
  int& depth_;
};

/// Inputs of batch norms that no gradient reaches: running mean and variance,
/// except those that a file shares with a weight of the same values.
std::set<std::string> RunningStatistics(const Graph& graph) {
  constexpr std::size_t kFirstStatistic = 3;
  std::set<std::string> statistics;
  std::set<std::string> others;
  for (const Node& node : graph.nodes) {
    const bool has_statistics = node.op_type == "BatchNormalization";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      (has_statistics && i >= kFirstStatistic ? statistics : others)
          .insert(node.inputs[i]);
    }
  }
  std::erase_if(statistics,
                [&](const std::string& name) { return others.contains(name); });
  return statistics;
}

}  // namespace

const Value* Frame::Find(const std::string& name) const {
  const auto found = values_.find(name);
  if (found != values_.end()) return &found->second;
  return outer_ == nullptr ? nullptr : outer_->Find(name);
}

void Frame::Define(const std::string& name, Value value) {
  values_.insert_or_assign(name, std::move(value));
}

void Frame::BindAttribute(std::string name, const Attribute* attribute) {
  attributes_.insert_or_assign(std::move(name), attribute);
}

const Attribute* Frame::FindBoundAttribute(const std::string& name) const {
  const auto found = attributes_.find(name);
  if (found != attributes_.end()) return found->second;
  return outer_ == nullptr ? nullptr : outer_->FindBoundAttribute(name);
}

Evaluator::Evaluator(const Model& model, const InstanceOptions& options)
    : model_(model),
      options_(options),
      functions_(model),
      root_(nullptr, model.opset_imports) {
  std::set<std::string> fixed = RunningStatistics(model.graph);
  fixed.merge(ConstantInitializers(model.graph));
  for (const TensorLiteral& literal : model.graph.initializers) {
    const bool trainable =
        IsFloatLiteral(literal) && !fixed.contains(literal.name);
    AddInitializer(literal, trainable);
  }
}

Evaluator::~Evaluator() = default;

void Evaluator::AddInitializer(const TensorLiteral& literal, bool trainable) {
  try {
    root_.Define(literal.name, Constant(literal, literal.name, trainable));
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{}: initializer '{}': {}", model_.path,
                            literal.name, error.what()));
  }
}

at::Tensor Evaluator::Constant(const TensorLiteral& literal,
                               const std::string& name, bool trainable) {
  const ConstantInfo info{name, trainable, &literal};
  if (options_.device.is_cpu()) {
    at::Tensor tensor = NewOnDevice(info);
    Register(tensor, info);
    return tensor;
  }
  if (!MayStayOnHost(literal)) {
    at::Tensor tensor = NewOnDevice(info);
    Register(tensor, info);
    literals_.emplace(tensor.unsafeGetTensorImpl(), &literal);
    return tensor;
  }
  at::Tensor host = HostTensor(literal, Precision::kFp32);
  constants_.emplace(host.unsafeGetTensorImpl(), info);
  if (IsFloatLiteral(literal) && literal.NumElements() > 1) OnDevice(host);
  return host;
}

at::Tensor Evaluator::NewOnDevice(const ConstantInfo& info) const {
  const UnrecordedScope unrecorded(info.role());
  const TensorLiteral& literal = *info.literal;
  const at::ScalarType type =
      ScalarTypeOf(literal.data_type, options_.precision);
  const auto on_device =
      at::TensorOptions().dtype(type).device(options_.device);
  if (options_.device.is_meta()) return MetaTensor(literal, options_.precision);
  if (literal.payload == TensorLiteral::Payload::kInline) {
    return HostTensor(literal, options_.precision).to(on_device);
  }
  if (at::elementSize(type) == 1) {
    // ATen can fill only few of the types of a byte or less.
    return at::zeros(literal.dims, on_device.dtype(at::kByte)).view(type);
  }
  if (!at::isFloatingType(type)) return at::zeros(literal.dims, on_device);
  return at::randn(literal.dims, on_device).mul_(kWeightDeviation);
}

void Evaluator::Register(at::Tensor& tensor, const ConstantInfo& info) {
  const bool trains = info.trainable && options_.mode == Mode::kTraining;
  if (trains && at::isFloatingType(tensor.scalar_type())) {
    tensor.set_requires_grad(true);
  }
  auto& list = info.trainable ? parameters_ : buffers_;
  list.push_back({info.name, tensor});
}

at::Tensor Evaluator::OnDevice(const at::Tensor& host) {
  if (!host.defined() || !host.device().is_cpu() || options_.device.is_cpu()) {
    return host;
  }
  const auto copy = device_copies_.find(host.unsafeGetTensorImpl());
  if (copy != device_copies_.end()) return copy->second;
  const auto constant = constants_.find(host.unsafeGetTensorImpl());
  const UnrecordedScope unrecorded(constant == constants_.end()
                                       ? TensorRole::kBuffer
                                       : constant->second.role());
  const at::ScalarType type = StoredAs(host.scalar_type(), options_.precision);
  at::Tensor moved =
      options_.device.is_meta()
          ? at::empty(host.sizes(),
                      host.options().dtype(type).device(at::kMeta))
          : host.to(options_.device, type);
  if (constant != constants_.end()) {
    Register(moved, constant->second);
    device_copies_.emplace(host.unsafeGetTensorImpl(), moved);
  }
  return moved;
}

at::Tensor Evaluator::Literal(const TensorLiteral& literal) {
  const auto found = attribute_literals_.find(&literal);
  if (found != attribute_literals_.end()) return found->second;
  at::Tensor tensor = Constant(literal, scope_ + ".value", false);
  attribute_literals_.emplace(&literal, tensor);
  return tensor;
}

const TensorLiteral* Evaluator::LiteralOf(const at::Tensor& tensor) const {
  const auto found = literals_.find(tensor.unsafeGetTensorImpl());
  return found == literals_.end() ? nullptr : found->second;
}

void Evaluator::CountCopies(std::size_t num_elements) {
  work_ += static_cast<std::int64_t>(num_elements);
  if (work_ <= kMaxNodes * kElementsPerNode) return;
  throw Unsupported("more than {} nodes ran: does a loop not terminate?",
                    kMaxNodes);
}

std::vector<Value> Evaluator::Run(std::vector<Value> inputs) {
  work_ = 0;
  std::set<std::string> initialized;
  for (const TensorLiteral& literal : model_.graph.initializers) {
    initialized.insert(literal.name);
  }
  Frame frame(&root_, model_.opset_imports);
  std::size_t next = 0;
  for (const ValueInfo& input : model_.graph.inputs) {
    if (initialized.count(input.name) != 0) continue;
    if (next < inputs.size()) frame.Define(input.name, std::move(inputs[next]));
    ++next;
  }
  if (next != inputs.size()) {
    throw InvalidArgument("{}: got {}, expected {}", model_.path,
                          Counted(inputs.size(), "input"), next);
  }
  inputs.clear();
  return RunBody(model_.graph.nodes, OutputNames(model_.graph), frame);
}

std::vector<Value> Evaluator::RunGraph(
    const Graph& body, const Frame* outer,
    const std::map<std::string, std::int64_t>& opsets,
    std::vector<Value> inputs) {
  Frame frame(outer, opsets);
  for (const TensorLiteral& literal : body.initializers) {
    frame.Define(literal.name, Literal(literal));
  }
  if (inputs.size() > body.inputs.size()) {
    throw Corrupt("{}: graph '{}' takes {}, got {}", model_.path, body.name,
                  Counted(body.inputs.size(), "input"), inputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    frame.Define(body.inputs[i].name, std::move(inputs[i]));
  }
  inputs.clear();
  return RunBody(body.nodes, OutputNames(body), frame);
}

std::vector<Value> Evaluator::RunBody(const std::vector<Node>& nodes,
                                      const std::vector<std::string>& outputs,
                                      Frame& frame) {
  const DepthScope scope(depth_);
  if (depth_ > kMaxDepth) {
    throw Unsupported("{}: graphs and functions nest more than {} deep",
                      model_.path, kMaxDepth);
  }
  const Liveness& liveness = LivenessOf(nodes, outputs);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Execute(nodes[i], frame);
    for (const std::string& name : liveness.dying_after(i)) frame.Erase(name);
  }
  std::vector<Value> results;
  for (const std::string& name : outputs) {
    const Value* value = frame.Find(name);
    if (value == nullptr) {
      throw Corrupt("{}: output '{}' is defined by no node", model_.path, name);
    }
    const auto* sequence = std::get_if<Sequence>(value);
    if (sequence != nullptr) CountCopies(sequence->size());
    results.push_back(*value);
  }
  return results;
}

const Liveness& Evaluator::LivenessOf(const std::vector<Node>& nodes,
                                      const std::vector<std::string>& outputs) {
  std::unique_ptr<Liveness>& liveness = liveness_[&nodes];
  if (!liveness) liveness = std::make_unique<Liveness>(nodes, outputs);
  return *liveness;
}

void Evaluator::Execute(const Node& node, Frame& frame) {
  const std::string outer_scope = scope_;
  scope_ = depth_ > 1 && !outer_scope.empty() && !node.name.empty()
               ? outer_scope + "/" + node.name
               : (node.name.empty() ? outer_scope : node.name);
  const auto opset = frame.opsets().find(node.domain);
  const std::int64_t version =
      opset == frame.opsets().end() ? 1 : opset->second;
  try {
    CountCopies(kElementsPerNode);
    if (const auto function = functions_.Find(node)) {
      CallFunction(model_.functions[*function], node, frame);
    } else {
      const OnnxOperator* row =
          FindOperator(node.domain, node.op_type, version);
      NodeContext context(*this, frame, node, version);
      if (row == nullptr) {
        context.Fail(ErrorCode::kUnsupported,
                     "operator is not supported at version {}", version);
      }
      row->lowering(context);
    }
  } catch (const Error& error) {
    Rethrow(node, error.code(), error.what());
  } catch (const c10::NotImplementedError& error) {
    Rethrow(node, ErrorCode::kUnsupported,
            LibTorchMessage(error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    Rethrow(node, ErrorCode::kInvalidArgument,
            LibTorchMessage(error.what_without_backtrace()));
  }
  scope_ = outer_scope;
}

void Evaluator::Rethrow(const Node& node, ErrorCode code,
                        const std::string& message) const {
  // An inner node has already named itself and the file.
  if (message.rfind(model_.path + ":", 0) == 0) throw Error(code, message);
  throw Error(code, Place(node) + message);
}

std::string Evaluator::Place(const Node& node) const {
  if (!node.origin.empty()) {
    return fmt::format("{}: {}: ", model_.path, node.origin);
  }
  const std::string label =
      !node.name.empty() ? node.name
                         : (node.outputs.empty() ? "" : node.outputs.front());
  return fmt::format(
      "{}: node '{}' ({}{}): ", model_.path, label,
      node.domain.empty() ? "" : node.domain + "::", node.op_type);
}

void Evaluator::CallFunction(const Function& function, const Node& node,
                             Frame& frame) {
  Frame inner(nullptr, function.opset_imports);
  for (const Attribute& fallback : function.attribute_protos) {
    inner.BindAttribute(fallback.name, &fallback);
  }
  for (const Attribute& given : node.attributes) {
    const Attribute* bound =
        given.ref_attr_name.empty()
            ? &given
            : frame.FindBoundAttribute(given.ref_attr_name);
    if (bound != nullptr) inner.BindAttribute(given.name, bound);
  }
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const bool given = i < node.inputs.size() && !node.inputs[i].empty();
    const Value* value = given ? frame.Find(node.inputs[i]) : nullptr;
    inner.Define(function.inputs[i], value == nullptr ? Value() : *value);
  }
  std::vector<Value> results = RunBody(function.nodes, function.outputs, inner);
  for (std::size_t i = 0; i < node.outputs.size() && i < results.size(); ++i) {
    if (!node.outputs[i].empty()) {
      frame.Define(node.outputs[i], std::move(results[i]));
    }
  }
}

}  // namespace foretell::onnx
