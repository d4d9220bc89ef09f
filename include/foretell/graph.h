#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "foretell/runtime.h"

namespace foretell {

/// Element types of tensors. Names in text form: f32, f16, bf16, i64 …
enum class DType : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
  kC64,
  kC128,
};

/// Size of one element in bytes.
std::int64_t ByteWidth(DType dtype);
/// Text form of `dtype`, e.g. "f32".
std::string_view DTypeName(DType dtype);
/// Inverse of DTypeName; empty for an unknown name.
std::optional<DType> ParseDType(std::string_view name);
/// True for f64, f32, f16, bf16 and f8.
bool IsFloatingPoint(DType dtype);
/// True for f16 and bf16.
constexpr bool IsHalf(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

/// Element type and shape of a tensor. A scalar has an empty shape.
struct TensorType {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;

  /// Product of the shape; throws Error(kInvalidArgument) beyond int64.
  std::int64_t NumElements() const;
  /// NumElements() × ByteWidth(dtype).
  std::int64_t Bytes() const;
  bool operator==(const TensorType&) const = default;
};

/// Text form of a type: `f32[8,3,224,224]`.
std::string ToString(const TensorType& type);

/// What a storage is used for. Views share the role of their base.
enum class TensorRole : std::uint8_t {
  kInput,              ///< Given by the caller.
  kParameter,          ///< Trainable weight.
  kBuffer,             ///< Constant or running statistic.
  kActivation,         ///< Made by the forward pass, dead when it ends.
  kSaved,              ///< Made by the forward pass, kept for the backward one.
  kGradient,           ///< Gradient of a parameter.
  kBackwardTemporary,  ///< Made by the backward pass, other than kGradient.
  kOptimizerState,     ///< Momentum and the like, kept from step to step.
  kOptimizerTemporary,  ///< Made and dropped by an optimizer step.
};
inline constexpr int kNumTensorRoles = 9;
/// True for parameters and buffers, which a step reads and keeps.
constexpr bool IsSourceRole(TensorRole role) {
  return role == TensorRole::kParameter || role == TensorRole::kBuffer;
}
std::string_view TensorRoleName(TensorRole role);
std::optional<TensorRole> ParseTensorRole(std::string_view name);

/// Part of a step in which an operator runs.
enum class Phase : std::uint8_t { kForward, kBackward, kOptimizer };
std::string_view PhaseName(Phase phase);
std::optional<Phase> ParsePhase(std::string_view name);

enum class Mode : std::uint8_t { kInference, kTraining };
std::string_view ModeName(Mode mode);
std::optional<Mode> ParseMode(std::string_view name);

/// Arithmetic of a run. kTf32 stores float32 and multiplies in TF32.
enum class Precision : std::uint8_t { kFp32, kTf32, kFp16, kBf16 };
std::string_view PrecisionName(Precision precision);
std::optional<Precision> ParsePrecision(std::string_view name);

/// What an operation does, independent of the format that it came from.
enum class OpKind : std::uint8_t {
  kConvolution,
  kTransposedConvolution,
  kConvolutionBackward,
  kLinear,
  kMatmul,
  kEinsum,
  kAttention,
  kAttentionBackward,
  kRecurrent,
  kRecurrentBackward,
  kEmbedding,
  kEmbeddingBackward,
  kBatchNorm,
  kLayerNorm,
  kGroupNorm,
  kInstanceNorm,
  kRmsNorm,
  kLocalResponseNorm,
  kNormBackward,
  kSoftmax,
  kSoftmaxBackward,
  kRelu,
  kGelu,
  kSilu,
  kSigmoid,
  kTanh,
  kHardActivation,
  kOtherActivation,
  kActivationBackward,
  kMaxPool,
  kAveragePool,
  kPoolBackward,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kElementwise,
  kCompare,
  kSelect,
  kReduce,
  kArgReduce,
  kSort,
  kCumulative,
  kView,
  kCopy,
  kCast,
  kConcat,
  kPad,
  kUpsample,
  kUpsampleBackward,
  kGather,
  kScatter,
  kFill,
  kRandom,
  kDropout,
  kFft,
  kDetection,
  kLoss,
  kOptimizerUpdate,
  kCollective,  ///< Exchanges tensors with other GPUs.
  kOther,
};
inline constexpr int kNumOpKinds = static_cast<int>(OpKind::kOther) + 1;
std::string_view OpKindName(OpKind kind);

/// Kind of the ATen operator `target`: its name without overload, the "aten::"
/// prefix optional, an in-place underscore ignored. kOther when unknown.
OpKind OpKindOf(std::string_view target);

/// Value of an attribute: an argument of an operator that is not a tensor.
using Attribute = std::variant<bool, std::int64_t, double, std::string,
                               std::vector<std::int64_t>, std::vector<double>>;
/// Attributes in the order of the operator's schema.
using Attributes = std::vector<std::pair<std::string, Attribute>>;

using ValueId = std::int32_t;
using NodeId = std::int32_t;
using StorageId = std::int32_t;
inline constexpr std::int32_t kNone = -1;

/// A block of device memory that one or several tensors share.
struct Storage {
  std::int64_t bytes = 0;
  TensorRole role = TensorRole::kActivation;
  std::string label;  ///< Name of the first tensor in it, for reports.
};

/// A tensor: an input, a parameter, or the result of a node.
struct Value {
  std::string name;  ///< Unique in its graph, without "%".
  TensorType type;
  StorageId storage = kNone;
  NodeId producer = kNone;  ///< kNone for inputs, parameters and buffers.
  /// Elements from one index to the next, per dimension; empty if the tensor is
  /// row-major (RecordedStrides in src/graph/strides.h has the rule).
  std::vector<std::int64_t> strides = {};
};

/// Attribute (true) of the casts made by autocast and not by the program.
inline constexpr std::string_view kAutocastAttribute = "autocast";
/// Attribute (true) of a view of a result that the operator created internally
/// and saved for its backward pass: it is not a call, so it costs no time.
inline constexpr std::string_view kSavedAttribute = "saved";
/// Attribute of a call that stands for that many alike: one step of a loop. The
/// default is 1.
inline constexpr std::string_view kTimesAttribute = "times";

/// A top-level ATen operator, or a call made inside one.
struct Node {
  std::string target;  ///< ATen name without "aten::", e.g. "conv2d", "add_".
  OpKind kind = OpKind::kOther;
  std::string scope;  ///< Module path or name in the file; may be empty.
  Phase phase = Phase::kForward;
  std::vector<ValueId> inputs;  ///< Tensor arguments, in schema order.
  std::vector<ValueId> outputs;
  Attributes attributes;
  std::int64_t macs = 0;  ///< Multiply-accumulates; set by GraphBuilder.
  /// ATen calls made inside the operator, in order: views, and operators with
  /// their own kernels. Empty if the trace lists none. Their tensors are values
  /// produced by the operator; calls have no scope and no nested calls.
  std::vector<Node> calls = {};

  /// The attribute `name`, or nullptr.
  const Attribute* FindAttribute(std::string_view name) const;
  /// The integer list `name` (an int counts as a list of one), or `fallback`.
  std::vector<std::int64_t> Ints(std::string_view name,
                                 std::vector<std::int64_t> fallback) const;
  /// The integer or Boolean `name`, or `fallback`.
  std::int64_t Int(std::string_view name, std::int64_t fallback) const;
};

/// Allocation or free of a storage, in the order of eager LibTorch.
struct MemoryEvent {
  enum class Kind : std::uint8_t { kAllocate, kFree };
  Kind kind = Kind::kAllocate;
  StorageId storage = kNone;
  /// Node during which it happens; kNone before the first node of the graph
  /// (parameters, inputs, and in training the warm-up steps). A free that
  /// happens between two nodes belongs to the earlier one.
  NodeId node = kNone;
};

/// Origin and settings of a graph.
struct GraphInfo {
  std::string name;
  Mode mode = Mode::kInference;
  Precision precision = Precision::kFp32;
  std::int64_t batch = 1;
  std::string optimizer;  ///< "sgd", "momentum", "adam", "adamw"; or empty.
  /// 16-bit type that automatic mixed precision cast to while the graph was
  /// traced: its casts are nodes. Empty: all casts are the program's own.
  std::optional<DType> autocast = {};
  /// Autograd recorded the forward pass of an inference without a backward
  /// pass: see Run::grad_mode. False in training, which always records.
  bool grad_mode = false;
  /// Network and inputs were converted to the channels-last format before the
  /// graph was traced.
  bool channels_last = false;
  /// What runs the nodes. Eager: they are PyTorch's operators; else the graph
  /// is what that runtime makes of those.
  RuntimeSpec runtime = {};
};

struct PipelineGpu;

/// Operators of one step (forward; in training also backward and optimizer) in
/// execution order, with exact shapes, and the lifetime of every storage.
///
/// Immutable and valid by construction: only GraphBuilder makes one. Node
/// inputs come before the node, names are unique, every storage is allocated
/// once before it is freed at most once, and every size and stride is
/// non-negative.
class OperatorGraph {
 public:
  const GraphInfo& info() const { return info_; }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Value> values() const { return values_; }
  std::span<const Storage> storages() const { return storages_; }
  std::span<const MemoryEvent> events() const { return events_; }
  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }

  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  const Value& value(ValueId id) const {
    return values_[static_cast<size_t>(id)];
  }
  const Storage& storage(StorageId id) const {
    return storages_[static_cast<size_t>(id)];
  }

  /// Data-flow edges (producer, consumer), without duplicates, sorted.
  std::vector<std::pair<NodeId, NodeId>> Edges() const;
  /// Multiply-accumulates of the forward pass.
  std::int64_t ForwardMacs() const;
  /// Elements of all parameters as the program declares them.
  std::int64_t ParameterElements() const { return parameter_elements_; }

  /// All GPUs of the pipeline that this graph is a part of; empty: none.
  std::span<const PipelineGpu> pipeline() const;
  /// The graph as GPU `gpu` of `pipeline`.
  OperatorGraph InPipeline(
      std::shared_ptr<const std::vector<PipelineGpu>> pipeline,
      std::size_t gpu) const;
  /// Its place in pipeline().
  std::size_t pipeline_gpu() const { return pipeline_gpu_; }

 private:
  friend class GraphBuilder;
  GraphInfo info_;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<Storage> storages_;
  std::vector<MemoryEvent> events_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::int64_t parameter_elements_ = 0;
  std::shared_ptr<const std::vector<PipelineGpu>> pipeline_;
  std::size_t pipeline_gpu_ = 0;
};

/// One GPU's part of a step that a pipeline of GPUs runs.
struct PipelineGpu {
  OperatorGraph graph;
  std::string blocks;          ///< Modules of its stages: "h.0 to h.5".
  std::int64_t in_flight = 0;  ///< Most forward passes without a backward pass.
};

/// Arguments of GraphBuilder::AddNode for a node.
struct NodeSpec {
  std::string target;
  std::vector<ValueId> inputs;
  Attributes attributes = {};
  std::string scope = {};
  Phase phase = Phase::kForward;
};

/// Builds an OperatorGraph.
///
/// Every method throws Error(kInvalidArgument) that names the value or node and
/// what is wrong with it.
class GraphBuilder {
 public:
  explicit GraphBuilder(GraphInfo info);

  /// Adds a storage of `bytes` >= 0 without allocating it yet.
  StorageId AddStorage(std::int64_t bytes, TensorRole role,
                       std::string label = {});
  /// Gives a storage at least `bytes`, e.g. once a tensor in it was resized.
  void Grow(StorageId storage, std::int64_t bytes);
  /// Changes the role of a storage, e.g. once it turns out to be saved.
  void SetRole(StorageId storage, TensorRole role);

  /// Adds a tensor that no node produces: an input, parameter or buffer by the
  /// role of `storage`. An empty name becomes a fresh number. `strides` are one
  /// per dimension, or empty: see Value::strides.
  ValueId AddSource(std::string name, TensorType type, StorageId storage,
                    std::vector<std::int64_t> strides = {});
  /// Adds a node after all others; its kind and MACs follow from its target,
  /// attributes and types (AddResult must have been called for its results
  /// before Build()).
  NodeId AddNode(NodeSpec spec);
  /// Adds the next result of `node`. A result in the storage of one of the
  /// node's inputs is a view or an in-place update.
  ValueId AddResult(NodeId node, std::string name, TensorType type,
                    StorageId storage, std::vector<std::int64_t> strides = {});

  /// Adds a tensor that only the calls inside `node` produce or read. Does not
  /// name its storage.
  ValueId AddInner(NodeId node, std::string name, TensorType type,
                   StorageId storage, std::vector<std::int64_t> strides = {});
  /// Adds the next call that `node` makes inside; scope and phase of `spec` are
  /// ignored. `results` are results or inner tensors of `node`.
  void AddCall(NodeId node, NodeSpec spec, std::vector<ValueId> results);

  /// Sets the module path of a node.
  void SetScope(NodeId node, std::string scope);

  void Allocate(StorageId storage, NodeId node);
  void Free(StorageId storage, NodeId node);
  void MarkInput(ValueId value);
  void MarkOutput(ValueId value);
  /// By default, counts the elements of all kParameter sources, each storage
  /// once.
  void SetParameterElements(std::int64_t elements);

  /// Derives all allocations and frees; requires that there are none yet.
  /// Sources live from before the first node to the end; the storage of a
  /// result is allocated at its node and freed after its last use, unless it is
  /// an output.
  void DeriveLifetimes();

  const Value& value(ValueId id) const;
  const Storage& storage(StorageId id) const;
  std::int32_t num_nodes() const;

  /// Checks everything and returns the graph; the builder is empty afterwards.
  /// Every storage must have been allocated (or DeriveLifetimes called).
  OperatorGraph Build();

 private:
  ValueId AddValue(Value value);
  /// The node that `spec` describes; `describe` names it in errors.
  template <typename Describe>
  Node MakeNode(NodeSpec spec, const Describe& describe) const;
  std::string FreshName();

  OperatorGraph graph_;
  std::unordered_set<std::string> names_;
  std::int64_t next_name_ = 0;
  /// Empty: the elements of the parameter storages are counted.
  std::optional<std::int64_t> parameter_elements_;
};

/// Multiply-accumulates of `node`, by its kind: convolutions, linear layers,
/// matrix products, einsum, both products of attention, recurrent layers, and
/// their backward operators; 0 for everything else.
std::int64_t CountMacs(const OperatorGraph& graph, const Node& node);

}  // namespace foretell
