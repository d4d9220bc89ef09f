#include "src/runtime/compile/recorded_lives.h"

#include "src/graph/index_of.h"
#include "src/graph/node_events.h"

namespace foretell::runtime {

std::vector<RecordedLife> RecordedLives(const OperatorGraph& step) {
  std::vector<RecordedLife> lives(step.storages().size());
  for (const MemoryEvent& event : step.events()) {
    RecordedLife& life = lives[IndexOf(event.storage)];
    if (event.kind == MemoryEvent::Kind::kAllocate) {
      life.birth = event.node;
    } else {
      life.is_freed = true;
    }
  }
  return lives;
}

std::set<StorageId> LeftByEarlierSteps(const OperatorGraph& step) {
  std::set<StorageId> left;
  for (const MemoryEvent& event : EventsOf(step, kNone)) {
    if (event.kind == MemoryEvent::Kind::kAllocate) {
      left.insert(event.storage);
    } else {
      left.erase(event.storage);
    }
  }
  for (const Value& value : step.values()) left.erase(value.storage);
  return left;
}

}  // namespace foretell::runtime
