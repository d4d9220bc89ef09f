#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>

namespace foretell::training {

/// Values by key; the most recently used ones are kept as long as they fit into
/// a number of bytes. Not safe for use by two threads at once.
template <typename Key, typename Value>
class ByteCache {
 public:
  explicit ByteCache(std::int64_t capacity) : capacity_(capacity) {}

  /// Null when the value is not kept.
  std::shared_ptr<const Value> Find(const Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  /// Keeps a value of `bytes`, and drops others for it. Requires that `key` has
  /// no value yet.
  void Put(const Key& key, std::shared_ptr<const Value> value,
           std::int64_t bytes) {
    entries_.push_front({key, std::move(value), bytes});
    by_key_[key] = entries_.begin();
    bytes_ += bytes;
    while (bytes_ > capacity_) {
      bytes_ -= entries_.back().bytes;
      by_key_.erase(entries_.back().key);
      entries_.pop_back();
    }
  }

  std::int64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Value> value;
    std::int64_t bytes;
  };

  std::int64_t capacity_;
  std::int64_t bytes_ = 0;
  std::list<Entry> entries_;  ///< The most recently used first.
  std::map<Key, typename std::list<Entry>::iterator> by_key_;
};

}  // namespace foretell::training
