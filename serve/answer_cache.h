#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "serve/message.h"

namespace foretell::serve {

/// SHA-256 of a job, including its files and their names, in 32 bytes.
std::string KeyOf(const Job& job);

/// Answers by the key of their job; the least recently used ones are dropped.
/// For any number of threads.
class AnswerCache {
 public:
  /// Keeps at most `most_bytes` of answers; 0: none.
  explicit AnswerCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  std::optional<Answer> Find(const std::string& key);
  void Put(const std::string& key, const Answer& answer);
  std::size_t bytes();

 private:
  struct Entry {
    std::string key;
    Answer answer;
  };
  static std::size_t BytesOf(const Entry& entry);

  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  ///< The most recently used first.
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
};

}  // namespace foretell::serve
