#include "src/parallel/sequenced_step.h"

#include <algorithm>
#include <utility>

namespace foretell::parallel {

bool SequencedStep::IsMadeAsPart(ValueId id) const {
  const Value& value = graph().value(id);
  if (!region_.At(id)) return false;
  return value.producer == kNone ? lives_[IndexOf(value.storage)].birth != kNone
                                 : IsOfTokens(value.producer);
}

bool SequencedStep::IsBornAsPart(StorageId id) const {
  const ValueId base = base_[IndexOf(id)];
  if (base != kNone) return IsMadeAsPart(base);
  const NodeId birth = lives_[IndexOf(id)].birth;
  return birth != kNone && IsOfTokens(birth);
}

void SequencedStep::FindShared() {
  std::map<StorageId, std::vector<SequenceUse>> uses;
  for (NodeId id = 0; id < std::ssize(graph().nodes()); ++id) {
    const Node& node = graph().node(id);
    for (const ValueId input : node.inputs) {
      const StorageId storage = graph().value(input).storage;
      const bool is_written =
          node.kind != OpKind::kView &&
          std::ranges::any_of(node.outputs, [&](ValueId output) {
            return graph().value(output).storage == storage;
          });
      uses[storage].push_back({id, ReadsPart(id, input), is_written});
    }
  }
  for (auto& [storage, list] : uses) {
    const bool is_part = IsBornAsPart(storage);
    const auto others =
        std::ranges::count(list, !is_part, &SequenceUse::is_part);
    if (others > 0) shared_[storage] = {.uses = std::move(list)};
  }
  for (const MemoryEvent& event : graph().events()) {
    const bool is_end = event.kind == MemoryEvent::Kind::kFree;
    if (is_end && event.node != kNone && shared_.contains(event.storage)) {
      ends_[IndexOf(event.node)].push_back(event.storage);
    }
  }
}

void SequencedStep::NoteResult(ValueId id, const Node& node) {
  const StorageId storage = graph().value(id).storage;
  const auto shared = shared_.find(storage);
  if (shared == shared_.end()) return;
  const bool is_part = IsMadeAsPart(id);
  SequenceCopy& mine = is_part ? shared->second.part : shared->second.whole;
  SequenceCopy& other = is_part ? shared->second.whole : shared->second.part;
  mine.storage = StorageNow(storage);
  mine.values[id] = ValueNow(id);
  if (node.kind != OpKind::kView) End(other);
}

void SequencedStep::Release(SharedStorage& shared, NodeId id) {
  if (shared.part.storage == kNone || shared.whole.storage == kNone) return;
  bool needs_part = false;
  bool needs_whole = false;
  bool is_current = true;
  for (const SequenceUse& use : shared.uses) {
    if (use.node <= id) continue;
    needs_part |= use.is_part || !is_current;
    needs_whole |= !use.is_part && is_current;
    is_current &= !use.is_written;
  }
  if (!needs_whole) {
    End(shared.whole);
  } else if (!needs_part && id <= last_forward_) {
    held_.push_back(std::exchange(shared.part, {}).storage);
  } else if (!needs_part) {
    End(shared.part);
  }
}

ValueId SequencedStep::WholeOf(ValueId id, const Node& node) {
  SharedStorage& shared = shared_.at(graph().value(id).storage);
  SequenceCopy& whole = shared.whole;
  const auto known = whole.values.find(id);
  if (known != whole.values.end()) return known->second;
  if (whole.storage != kNone) {
    return whole.values[id] = ViewOf(whole, graph().value(id).type, node);
  }
  if (shared.part.storage == kNone) {  // A source.
    whole.storage = StorageNow(graph().value(id).storage);
    return whole.values[id] = ValueNow(id);
  }
  return Gather(id, shared, node);
}

ValueId SequencedStep::PartOf(ValueId id, const Node& node) {
  SharedStorage& shared = shared_.at(graph().value(id).storage);
  SequenceCopy& part = shared.part;
  const auto known = part.values.find(id);
  if (known != part.values.end()) return known->second;
  if (part.storage != kNone) {
    return part.values[id] = ViewOf(part, PartType(id), node);
  }
  const ValueId whole = WholeOf(id, node);
  const ValueId mine =
      region_.IsPartial(id) ? Scatter(id, whole, node) : Slice(id, whole, node);
  part.storage = builder().value(mine).storage;
  return part.values[id] = mine;
}

}  // namespace foretell::parallel
