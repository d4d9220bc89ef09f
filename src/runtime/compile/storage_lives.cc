#include "src/runtime/compile/storage_lives.h"

#include <algorithm>

#include "src/graph/index_of.h"

namespace foretell::runtime {

StorageId StorageLives::Add(const Storage& storage) {
  lives_.emplace_back();
  return builder_.AddStorage(storage.bytes, storage.role, storage.label);
}

const StorageLives::Life& StorageLives::Of(StorageId storage) const {
  return lives_[IndexOf(storage)];
}
StorageLives::Life& StorageLives::Of(StorageId storage) {
  return lives_[IndexOf(storage)];
}

void StorageLives::SetBirth(StorageId storage, Moment birth) {
  Life& life = Of(storage);
  if (life.forever || life.birth.node != kNone) return;
  life.birth = birth;
  life.death = std::max(life.death, birth);
}

void StorageLives::KeepUntil(StorageId storage, Moment until) {
  Life& life = Of(storage);
  life.death = std::max(life.death, until);
}

void StorageLives::KeepForever(StorageId storage) {
  Of(storage).forever = true;
}

bool StorageLives::Outlives(StorageId storage, NodeId node) const {
  return Of(storage).forever || Of(storage).death.node > node;
}

void StorageLives::WriteEvents() const {
  struct Event {
    Moment moment;
    MemoryEvent::Kind kind;
    StorageId storage;
  };
  std::vector<Event> events;
  for (StorageId id = 0; id < std::ssize(lives_); ++id) {
    events.push_back({Of(id).birth, MemoryEvent::Kind::kAllocate, id});
  }
  for (StorageId id = 0; id < std::ssize(lives_); ++id) {
    if (Of(id).forever) continue;
    events.push_back({Of(id).death, MemoryEvent::Kind::kFree, id});
  }
  std::ranges::stable_sort(events, {}, &Event::moment);
  for (const Event& event : events) {
    event.kind == MemoryEvent::Kind::kAllocate
        ? builder_.Allocate(event.storage, event.moment.node)
        : builder_.Free(event.storage, event.moment.node);
  }
}

}  // namespace foretell::runtime
