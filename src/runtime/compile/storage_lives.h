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

  StorageId Add(const Storage& storage);
  /// No effect on one that is born already or lives forever.
  void Bear(StorageId storage, Moment birth);
  void Need(StorageId storage, Moment until);
  void NeedForever(StorageId storage);
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
