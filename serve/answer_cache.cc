#include "serve/answer_cache.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <memory>
#include <string_view>

namespace foretell::serve {

namespace {

/// Parts of a job, each preceded by its length, so parts cannot be confused.
class Hash {
 public:
  Hash() : context_(EVP_MD_CTX_new()) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }

  void Number(std::uint64_t number) { Bytes(&number, sizeof(number)); }
  void Text(std::string_view text) {
    Number(text.size());
    Bytes(text.data(), text.size());
  }
  std::string Take() {
    std::string key(SHA256_DIGEST_LENGTH, '\0');
    EVP_DigestFinal_ex(context_.get(),
                       reinterpret_cast<unsigned char*>(key.data()), nullptr);
    return key;
  }

 private:
  struct Release {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  void Bytes(const void* bytes, std::size_t size) {
    EVP_DigestUpdate(context_.get(), bytes, size);
  }
  std::unique_ptr<EVP_MD_CTX, Release> context_;
};

}  // namespace

std::string KeyOf(const Job& job) {
  Hash hash;
  hash.Number(job.words.size());
  for (const std::string& word : job.words) hash.Text(word);
  for (const SentFile& file : job.files) {
    hash.Text(file.name);
    hash.Text(file.bytes);
  }
  return hash.Take();
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
