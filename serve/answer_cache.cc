#include "serve/answer_cache.h"

#include <openssl/sha.h>

#include <utility>

namespace foretell::serve {

std::string KeyOf(std::string_view job) {
  std::string key(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(job.data()), job.size(),
         reinterpret_cast<unsigned char*>(key.data()));
  return key;
}

std::size_t AnswerCache::BytesOf(const Entry& entry) {
  constexpr std::size_t kOfAnEntry = 256;  // Nodes of the list and the map.
  return kOfAnEntry + entry.answer.output.size() + entry.answer.errors.size();
}

std::optional<Answer> AnswerCache::Find(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->answer;
}

void AnswerCache::Put(const std::string& key, const Answer& answer) {
  const std::scoped_lock lock(mutex_);
  if (by_key_.contains(key)) return;
  entries_.push_front({key, answer});
  by_key_[key] = entries_.begin();
  bytes_ += BytesOf(entries_.front());
  while (bytes_ > most_bytes_) {
    bytes_ -= BytesOf(entries_.back());
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

std::size_t AnswerCache::bytes() {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

}  // namespace foretell::serve
