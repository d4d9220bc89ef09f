#pragma once

#include <compare>
#include <limits>
#include <vector>

#include "foretell/graph.h"

namespace foretell::runtime {

/// A point in the order of a graph's events.
struct Moment {
  NodeId node = kNone;
  int place = 0;  ///< Among the events of the node.
  auto operator<=>(const Moment&) const = default;
};

/// The place of a free that follows from the last reader.
inline constexpr int kAfterAll = std::numeric_limits<int>::max();

/// Storages of a graph under construction, and when each is there: from the
/// start, unless it is born later, to the last moment that it is needed.
class StorageLives {
 public:
  /// Keeps a reference to `builder`, which must get its storages from here.
  explicit StorageLives(GraphBuilder& builder) : builder_(builder) {}

  /// A storage of the builder like `storage`, which is there from the start and
  /// not needed yet.
  StorageId Add(const Storage& storage);
  /// Has no effect on one that has a birth or is kept forever.
  void SetBirth(StorageId storage, Moment birth);
  void KeepUntil(StorageId storage, Moment until);
  void KeepForever(StorageId storage);
  /// Whether it is needed after `node`.
  bool Outlives(StorageId storage, NodeId node) const;

  /// Adds the events of all storages to the builder.
  void WriteEvents() const;

 private:
  struct Life {
    Moment birth;
    Moment death;
    bool forever = false;
  };
  const Life& Of(StorageId storage) const;
  Life& Of(StorageId storage);

  GraphBuilder& builder_;
  std::vector<Life> lives_;  ///< By storage.
};

}  // namespace foretell::runtime
