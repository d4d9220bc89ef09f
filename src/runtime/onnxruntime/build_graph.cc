#include <algorithm>
#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/graph/copy_calls.h"
#include "src/graph/index_of.h"
#include "src/graph/strides.h"
#include "src/runtime/onnxruntime/draft.h"

// Which buffer a result gets, as PlannerImpl plans it before the first run
// (ComputeSingleStreamReusePlan in core/framework/allocation_planner.cc):
//
//   a result of the network   a buffer of its own
//   Reshape and its like      the operand's buffer (kernels with Alias)
//   activations               the operand's, if it has the same shape and is
//                             read for the last time (kernels with MayInplace)
//   else                      the buffer that was given up last among those of
//                             a tensor of the same shape and type, and a new
//                             one if there is none
//
// Shapes are compared as they are known before the run (UnknownSizes): tensors
// without such a shape get new buffers. On an H100 the arena's regions say so
// (datasets/labels/h100-sxm5-80gb/onnxruntime.jsonl.gz): 12.5 GiB for blocks of
// Stable Diffusion's U-Net, 16.5 if they were given used ones.
//
// A buffer that waits to be used again is not freed meanwhile: it lives from
// its first tensor to the end of its last.

namespace foretell::runtime::ort {
namespace {

/// Operators whose CUDA kernels are registered with MayInplace(0, 0): those of
/// activation/activations.cc in providers/cuda and contrib_ops/cuda. Arithmetic
/// is not (cuda/math/binary_elementwise_ops.cc, unary_elementwise_ops.cc).
constexpr std::string_view kInPlace[] = {
    "relu", "elu",      "hardsigmoid", "leaky_relu", "selu",
    "tanh", "softplus", "softsign",    "sigmoid",    "gelu"};

class GraphMaker {
 public:
  GraphMaker(const Draft& draft, GraphInfo info)
      : draft_(draft),
        uses_(draft),
        builder_(std::move(info)),
        value_of_(draft.tensors.size(), kNone),
        storage_of_(draft.tensors.size(), kNone),
        unknown_(UnknownSizes(draft)),
        left_(draft.tensors.size(), 0) {
    builder_.SetParameterElements(draft.graph->ParameterElements());
    for (std::size_t i = 0; i < left_.size(); ++i) {
      left_[i] = uses_.Count(static_cast<TensorId>(i));
    }
  }

  OperatorGraph Make() {
    for (const TensorId id : draft_.inputs) builder_.MarkInput(Read(id));
    for (const DraftNode& node : draft_.nodes) Add(node);
    for (const TensorId id : draft_.outputs) builder_.MarkOutput(Read(id));
    builder_.DeriveLifetimes();
    return builder_.Build();
  }

 private:
  /// The value of a tensor; an input or initializer becomes a source first.
  ValueId Read(TensorId id) {
    ValueId& value = value_of_[IndexOf(id)];
    if (value != kNone) return value;
    const DraftTensor& tensor = draft_.tensors[IndexOf(id)];
    StorageId storage = kNone;
    Strides strides;
    if (tensor.source != kNone) {
      const Value& source = draft_.graph->value(tensor.source);
      StorageId& shared = source_storage_[source.storage];
      if (shared_.insert({source.storage, true}).second) {
        const Storage& old = draft_.graph->storage(source.storage);
        shared = builder_.AddStorage(old.bytes, old.role, old.label);
      }
      storage = shared;
      strides = tensor.strides.empty() ? source.strides : tensor.strides;
    } else {
      storage = builder_.AddStorage(tensor.type.Bytes(), TensorRole::kBuffer);
      strides = tensor.strides;
    }
    storage_of_[IndexOf(id)] = storage;
    value = builder_.AddSource(tensor.name, tensor.type, storage, strides);
    return value;
  }

  bool IsResult(TensorId id) const {
    return std::ranges::count(draft_.outputs, id) > 0;
  }

  bool IsOfSource(TensorId id) const { return uses_.Producer(id) < 0; }

  /// True if the first result takes over its operand's buffer.
  bool RunsInPlace(const DraftNode& node) const {
    if (std::ranges::count(kInPlace, node.target) == 0) return false;
    const TensorId id = node.inputs[0];
    return !IsOfSource(id) && left_[IndexOf(id)] == 1 && IsLastOfBuffer(id) &&
           draft_.TypeOf(id) == draft_.TypeOf(node.outputs[0]);
  }

  bool IsLastOfBuffer(TensorId id) const {
    const auto users = users_.find(storage_of_[IndexOf(id)]);
    return users != users_.end() && users->second == 1;
  }

  StorageId StorageFor(const DraftNode& node, std::size_t i) {
    const TensorId id = node.outputs[i];
    if (draft_.tensors[IndexOf(id)].on_cpu) {
      return builder_.AddStorage(0, TensorRole::kActivation);
    }
    if (node.aliases) return storage_of_[IndexOf(node.inputs[0])];
    const TensorType& type = draft_.TypeOf(id);
    if (!IsResult(id)) {
      if (i == 0 && RunsInPlace(node))
        return storage_of_[IndexOf(node.inputs[0])];
      const auto free = std::ranges::find(
          free_, type, [](const auto& buffer) { return buffer.first; });
      if (!unknown_[IndexOf(id)] && free != free_.end()) {
        const StorageId storage = free->second;
        free_.erase(free);
        return storage;
      }
    }
    const StorageId storage =
        builder_.AddStorage(type.Bytes(), TensorRole::kActivation);
    type_of_[storage] = type;
    return storage;
  }

  void Add(const DraftNode& node) {
    std::vector<ValueId> inputs;
    for (const TensorId id : node.inputs) inputs.push_back(Read(id));
    const NodeId added = builder_.AddNode({.target = node.target,
                                           .inputs = std::move(inputs),
                                           .attributes = node.attributes,
                                           .scope = node.scope});
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorId id = node.outputs[i];
      const DraftTensor& tensor = draft_.tensors[IndexOf(id)];
      const StorageId storage = StorageFor(node, i);
      storage_of_[IndexOf(id)] = storage;
      value_of_[IndexOf(id)] = builder_.AddResult(
          added, tensor.name, tensor.type, storage, tensor.strides);
      // A result that nothing reads is given up at once.
      users_[storage] += std::max(left_[IndexOf(id)], 1);
    }
    AddCalls(node, added);
    for (const TensorId id : node.inputs) GiveUp(id);
    for (const TensorId id : node.outputs) {
      if (uses_.Count(id) == 0) GiveUp(id);
    }
  }

  void GiveUp(TensorId id) {
    --left_[IndexOf(id)];
    if (IsOfSource(id)) return;
    const StorageId storage = storage_of_[IndexOf(id)];
    if (--users_[storage] > 0) return;
    const auto type = type_of_.find(storage);
    if (type != type_of_.end() && !unknown_[IndexOf(id)])
      free_.emplace_front(type->second, storage);
  }

  void AddCalls(const DraftNode& node, NodeId added) {
    if (node.recorded != kNone) {
      CopyRecordedCalls(node, added);
      return;
    }
    for (std::size_t i = 0; i < node.calls.size(); ++i) {
      const DraftNode& call = node.calls[i];
      std::vector<ValueId> inputs;
      for (const TensorId id : call.inputs) inputs.push_back(Read(id));
      std::vector<ValueId> outputs;
      for (const TensorId id : call.outputs) {
        ValueId& value = value_of_[IndexOf(id)];
        if (value == kNone) value = AddInner(added, id);
        outputs.push_back(value);
      }
      builder_.AddCall(added,
                       {.target = call.target,
                        .inputs = std::move(inputs),
                        .attributes = call.attributes},
                       std::move(outputs));
    }
  }

  /// A tensor that stays in registers.
  ValueId AddInner(NodeId node, TensorId id) {
    const StorageId storage = builder_.AddStorage(0, TensorRole::kActivation);
    const DraftTensor& tensor = draft_.tensors[IndexOf(id)];
    return builder_.AddInner(node, tensor.name, tensor.type, storage,
                             tensor.strides);
  }

  void CopyRecordedCalls(const DraftNode& node, NodeId added) {
    const OperatorGraph& old = *draft_.graph;
    const Node& recorded = old.node(node.recorded);
    std::map<ValueId, ValueId> values;
    std::map<StorageId, StorageId> storages;
    const auto know = [&](ValueId id, TensorId now) {
      values[id] = value_of_[IndexOf(now)];
      storages[old.value(id).storage] = storage_of_[IndexOf(now)];
    };
    for (std::size_t i = 0; i < recorded.inputs.size(); ++i) {
      know(recorded.inputs[i], node.inputs[i]);
    }
    for (std::size_t i = 0; i < recorded.outputs.size(); ++i) {
      know(recorded.outputs[i], node.outputs[i]);
    }
    CopyCalls(old, node.recorded,
              {.value = [&](ValueId id) { return values.at(id); },
               .storage =
                   [&](StorageId id) {
                     const auto [slot, is_new] = storages.try_emplace(id);
                     if (is_new) {
                       slot->second = builder_.AddStorage(old.storage(id).bytes,
                                                          old.storage(id).role);
                     }
                     return slot->second;
                   },
               .name = [](const std::string& name) { return name; }},
              added, builder_);
  }

  const Draft& draft_;
  const Uses uses_;
  GraphBuilder builder_;
  std::vector<ValueId> value_of_;      ///< By tensor.
  std::vector<StorageId> storage_of_;  ///< By tensor.
  const std::vector<bool> unknown_;    ///< See UnknownSizes.
  std::vector<int> left_;              ///< Reads to come, by tensor.
  std::map<StorageId, bool> shared_;   ///< Recorded storages of sources.
  std::map<StorageId, StorageId> source_storage_;  ///< What they are here.
  std::map<StorageId, int> users_;           ///< Reads of its tensors to come.
  std::map<StorageId, TensorType> type_of_;  ///< What a buffer was made for.
  /// Buffers that wait, the one given up last first.
  std::list<std::pair<TensorType, StorageId>> free_;
};

}  // namespace

OperatorGraph BuildGraph(const Draft& draft, const RuntimeSpec& spec) {
  GraphInfo info = draft.graph->info();
  info.runtime = spec;
  info.channels_last = spec.nhwc;
  return GraphMaker(draft, std::move(info)).Make();
}

}  // namespace foretell::runtime::ort
