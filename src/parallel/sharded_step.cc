#include "src/parallel/sharded_step.h"

#include <algorithm>
#include <cmath>
#include <utility>

// fully_shard, PyTorch's FSDP2: of every parameter each GPU keeps the rows of
// its own, and a unit's parameters are whole only while it runs
// (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py, 2.13).
//
//   forward    gather into one buffer, copy out; the buffer stays until the
//              next unit has gathered, so that the copy can overlap that.
//              Parameters go when the unit is done; those of the root stay.
//   backward   gather again, one unit ahead; the buffer goes after the copy.
//              When a unit is done its parameters go, its gradients are packed,
//              reduced and scattered; the packed ones stay until the next unit
//              is done. A unit whose inputs need no gradient, and the root, are
//              done when the whole backward pass is.
//
// FullyShardedDataParallel, FSDP1, has one flat parameter per unit
// (torch/distributed/fsdp/_flat_param.py, _runtime_utils.py, 2.13):
//
//   forward    parameters are views of the gathered buffer, which is allocated
//              on the stream that gathers and freed when the unit is done.
//   backward   autograd concatenates the unit's gradients; the flat gradient
//              goes once it is scattered.
//
// Its blocks in a reentrant checkpoint run their forward pass without autograd,
// which then knows of no backward pass to gather for: they are gathered and
// freed for the recomputation and again for the backward pass, never in
// advance.
//
// With shards in FP32 each GPU converts its own before they are gathered
// (FlatParamHandle._use_low_precision_shard, FSDPParam.all_gather_inputs), and
// what was reduced is converted back. FSDP1 converts gradients to the type of
// the reduction in a tensor of their own, FSDP2 while it packs them.
//
// With CPUOffloadPolicy, or CPUOffload(offload_params=True), a GPU copies its
// shards from the host before they are converted and gathered, and sends what
// was reduced there, where the optimizer runs (FSDPParam.all_gather_inputs,
// foreach_reduce; FlatParamHandle.pre_unshard, _offload_grad). Neither copy
// outlives its unit.
//
// kZero2 is reshard_after_forward=False: what the forward pass gathered stays.
//
// On a stage of a pipeline (stage.py of torch.distributed.pipelining, 2.13)
// backward passes neither free parameters nor reduce gradients, which add up:
// backward_maybe_with_nosync sets set_reshard_after_backward(False) and
// set_requires_gradient_sync(False). perform_reduce_grad does both for all
// units, the root first, after the last pass.
//
// Rows are split as torch.chunk does, so the first GPU, which is the one shown,
// has most; what is gathered and scattered is padded to equal parts.

namespace foretell::parallel {

ShardedStep::ShardedStep(const OperatorGraph& graph, const ParallelSpec& spec,
                         std::span<const TrainedParameter> trained,
                         std::span<const NodeId> passes, int expert_gpus)
    : StepRewriter(graph, spec),
      passes_(passes),
      facts_(graph, trained),
      sizes_(graph, facts_, spec, expert_gpus),
      found_(FindUnits(graph, facts_, spec, passes, expert_gpus > 1)),
      is_held_(graph.storages().size(), false),
      states_(found_.units.size()),
      shards_(facts_.parameters.size(), kNone),
      whole_(facts_.parameters.size(), kNone),
      reduced_(facts_.parameters.size(), kNone) {}

std::vector<NodeId> ShardedStep::Order() const {
  std::vector<NodeId> order = StepRewriter::Order();
  if (spec().cpu_offload) {
    std::erase_if(order, [this](NodeId id) {
      return graph().node(id).phase == Phase::kOptimizer;
    });
  }
  return order;
}

std::optional<std::int64_t> ShardedStep::BytesOf(StorageId id) const {
  const ParameterIndex index = facts_.OwnerOf(id);
  const std::int64_t bytes = graph().storage(id).bytes;
  if (spec().cpu_offload) {
    const TensorRole role = graph().storage(id).role;
    if (role == TensorRole::kOptimizerState ||
        role == TensorRole::kOptimizerTemporary) {
      return std::nullopt;
    }
    if (role == TensorRole::kParameter && index != kNone) return 0;
  }
  if (index == kNone || At(index).gradient == id) return bytes;
  const TensorType& whole = sizes_.TypeOf(index);
  const std::int64_t elements = whole.NumElements();
  if (elements == 0) return bytes;
  const std::int64_t own = sizes_.ShardType(index).NumElements();
  if (bytes == whole.Bytes()) return own * ByteWidth(sizes_.OwnDType(index));
  if (bytes % elements == 0) return bytes / elements * own;
  // Scales of blocks of an 8-bit state, codes in 4 bits.
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(bytes) * static_cast<double>(own) /
                static_cast<double>(elements)));
}

TensorType ShardedStep::TypeOf(ValueId id) const {
  const Value& value = graph().value(id);
  const ParameterIndex index = facts_.OwnerOf(value.storage);
  const bool is_sharded =
      value.producer == kNone ||
      graph().node(value.producer).phase == Phase::kOptimizer;
  if (index == kNone || !is_sharded ||
      value.type.NumElements() != sizes_.TypeOf(index).NumElements()) {
    return value.type;
  }
  const bool is_its_own = value.type.dtype == sizes_.TypeOf(index).dtype;
  return {is_its_own ? sizes_.OwnDType(index) : value.type.dtype,
          sizes_.ShardType(index).shape};
}

bool ShardedStep::Keeps(const MemoryEvent& event) const {
  if (event.kind == MemoryEvent::Kind::kAllocate) return true;
  const ParameterIndex index = facts_.OwnerOf(event.storage);
  return !is_held_[IndexOf(event.storage)] &&
         (index == kNone || At(index).gradient != event.storage);
}

void ShardedStep::Begin() {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    shards_[i] = ValueNow(facts_.parameters[i].value);
  }
  if (!spec().reentrant || spec().orig_params) return;
  HeldTensors tensors = FindHeldTensors(graph(), facts_, found_.units);
  for (const StorageId input : tensors.inputs) Hold(input);
  gradients_ = std::move(tensors.gradients);
}

void ShardedStep::BeforeNode(NodeId id) {
  if (id == facts_.first_forward) BeginForward(0);
  for (std::size_t i = 1; i < states_.size(); ++i) {
    if (Has(found_.units[i].forwards, id, &NodeSpan::first)) BeginForward(i);
  }
  if (std::ranges::count(found_.backwards, id) > 0) BeginNetworkBackward();
  HoldGradients(id);
  for (std::size_t i = 1; i < states_.size(); ++i) {
    if (Has(found_.units[i].backwards, id, &NodeSpan::first)) BeginBackward(i);
  }
}

void ShardedStep::Hold(StorageId id) {
  is_held_[IndexOf(id)] = true;
  held_.push_back(StorageNow(id));
}

void ShardedStep::HoldGradients(NodeId id) {
  for (; next_gradient_ < gradients_.size() &&
         gradients_[next_gradient_].node == id;
       ++next_gradient_) {
    Hold(gradients_[next_gradient_].storage);
  }
  if (next_gradient_ == 0) return;
  for (const ValueId output : graph().node(id).outputs) {
    const StorageId storage = graph().value(output).storage;
    const bool is_view = graph().node(id).kind == OpKind::kView;
    if (is_view || !is_held_[IndexOf(storage)]) continue;
    is_held_[IndexOf(storage)] = false;
    const Storage& old = builder().storage(StorageNow(storage));
    sums_.push_back(builder().AddStorage(old.bytes, old.role, old.label));
    SetStorage(storage, sums_.back());
  }
}

void ShardedStep::AfterNode(NodeId id) {
  for (const StorageId sum : std::exchange(sums_, {})) {
    builder().Allocate(sum, Current());
  }
  for (std::size_t i = 1; i < states_.size(); ++i) {
    const ShardedUnit& unit = found_.units[i];
    if (Has(unit.forwards, id, &NodeSpan::last)) EndForward(i);
    if (unit.last_again == id) EndRecomputation(i);
    const bool reports = passes_.empty() && !unit.inputs.empty();
    if (reports && unit.LastBackward() == id) EndBackward(i);
  }
  if (id == facts_.last_forward || EndsPass(id)) FreeWaiting();
  if (id == facts_.last_backward) EndAll();
}

void ShardedStep::BeginForward(std::size_t i) {
  if (!HasParameters(i) || states_[i].is_whole) return;
  Gather(i, Phase::kForward);
  FreeWaiting();
  MakeWhole(i, Phase::kForward);
  if (!IsFlat()) waiting_ = i;
  if (i == 0) order_.push_back(i);
}

void ShardedStep::EndForward(std::size_t i) {
  if (std::ranges::count(order_, i) == 0) order_.push_back(i);
  if (spec().kind != ParallelKind::kZero2) FreeWhole(i);
}

void ShardedStep::EndRecomputation(std::size_t i) {
  if (!spec().reentrant) return;
  FreeWhole(i);
  Gather(i, Phase::kBackward);
  MakeWhole(i, Phase::kBackward);
}

void ShardedStep::BeginNetworkBackward() {
  if (HasParameters(0)) Prefetch(order_.size());
}

void ShardedStep::Prefetch(std::size_t place) {
  if (place == 0 || spec().reentrant) return;
  if (place < order_.size() && AdaptersAreUnits()) return;
  const std::size_t i = order_[place - 1];
  if (!states_[i].is_whole && states_[i].buffer == kNone) {
    Gather(i, Phase::kBackward);
  }
}

bool ShardedStep::AdaptersAreUnits() const {
  if (!IsFlat() || spec().orig_params) return false;
  return std::ranges::any_of(found_.units, [this](const ShardedUnit& unit) {
    const std::size_t trained = facts_.TrainedOf(unit.parameters).size();
    return !unit.path.empty() && trained > 0 &&
           trained < unit.parameters.size();
  });
}

void ShardedStep::BeginBackward(std::size_t i) {
  if (!HasParameters(i)) return;
  if (!states_[i].is_whole) {
    if (states_[i].buffer == kNone) Gather(i, Phase::kBackward);
    MakeWhole(i, Phase::kBackward);
    if (!IsFlat()) FreeBuffer(i);
  }
  const auto place = std::ranges::find(order_, i);
  Prefetch(static_cast<std::size_t>(place - order_.begin()));
}

}  // namespace foretell::parallel
