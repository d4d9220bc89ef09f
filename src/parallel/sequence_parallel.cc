#include "src/parallel/sequence_parallel.h"

#include <utility>

#include "src/parallel/sequenced_step.h"

// SequenceParallel of norms and dropouts between ColwiseParallel with
// input_layouts=Shard(1) and RowwiseParallel with output_layouts=Shard(1),
// PyTorch 2.13, as torchtitan combines them. An exchange along a dimension that
// is not the first copies: gathered pieces are put side by side, and pieces to
// be scattered one after another (all_gather_tensor and reduce_scatter_tensor
// of torch/distributed/_functional_collectives.py).
//
// Layers that read the same tensor gather it once and scatter the sum of their
// gradients once (PrepareModuleInput). What was gathered is what autograd
// saves; a GPU's own tokens, an argument of the module that gathers, live until
// it returns. Gradients of norms are sums of each GPU's tokens, which the
// optimizer adds up when it reads them.

namespace foretell::parallel {

std::optional<std::int64_t> SequencedStep::BytesOf(StorageId id) const {
  const ValueId base = base_[IndexOf(id)];
  const NodeId producer = base == kNone ? kNone : graph().value(base).producer;
  if (producer != kNone && region_.WorkOf(producer) == SequenceWork::kDefer) {
    return std::nullopt;
  }
  const std::int64_t bytes = graph().storage(id).bytes;
  return IsBornAsPart(id) ? bytes / spec().gpus : bytes;
}

TensorType SequencedStep::PartType(ValueId id) const {
  TensorType type = graph().value(id).type;
  type.shape[IndexOf(region_.At(id)->dim)] /= spec().gpus;
  return type;
}

bool SequencedStep::Keeps(const MemoryEvent& event) const {
  if (event.node == kNone) return true;
  const bool is_free = event.kind == MemoryEvent::Kind::kFree;
  if (region_.WorkOf(event.node) == SequenceWork::kDefer) return false;
  return !is_free || !shared_.contains(event.storage);
}

void SequencedStep::BeforeNode(NodeId id) {
  const Node& node = graph().node(id);
  if (node.phase == Phase::kOptimizer) SumGradients();
  const SequenceWork work = region_.WorkOf(id);
  if (work == SequenceWork::kScatter) ScatterSum(node);
  if (work == SequenceWork::kDefer) PassTerm(node);
  if (IsReplaced(id)) return;
  for (const ValueId input : node.inputs) {
    const StorageId storage = graph().value(input).storage;
    const auto shared = shared_.find(storage);
    if (shared == shared_.end()) continue;
    const bool is_part = ReadsPart(id, input);
    SetValue(input, is_part ? PartOf(input, node) : WholeOf(input, node));
    SetStorage(storage, is_part ? shared->second.part.storage
                                : shared->second.whole.storage);
  }
}

void SequencedStep::AfterNode(NodeId id) {
  const Node& node = graph().node(id);
  const bool is_sum = region_.WorkOf(id) == SequenceWork::kTokens &&
                      node.phase == Phase::kBackward;
  for (const StorageId copy : std::exchange(copies_, {})) Free(copy);
  for (const ValueId output : node.outputs) {
    NoteResult(output, node);
    if (is_sum && !region_.At(output)) sums_.push_back(output);
  }
  for (const ValueId value : node.inputs) {
    const auto shared = shared_.find(graph().value(value).storage);
    if (shared != shared_.end()) Release(shared->second, id);
  }
  for (const StorageId storage : ends_[IndexOf(id)]) {
    End(shared_.at(storage).part);
    End(shared_.at(storage).whole);
  }
  const bool returns = region_.WorkOf(id) == SequenceWork::kScatter;
  if (returns || id == last_forward_) {
    for (const StorageId held : std::exchange(held_, {})) Free(held);
  }
}

BorderedStep ShareSequences(const BorderedStep& step,
                            const ParallelSpec& spec) {
  SequencedStep sequenced(step.graph, spec, step.trained);
  BorderedStep shared{.graph = sequenced.Rewrite(), .trained = {}};
  shared.trained = sequenced.TrainedNow(step.trained);
  return shared;
}

}  // namespace foretell::parallel
