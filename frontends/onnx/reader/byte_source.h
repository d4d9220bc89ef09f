#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/core/files.h"

namespace foretell::onnx {

/// Random access to the bytes of a model, in memory or in a file.
///
/// A file is read through a small window that follows the reader, so a jump
/// over a payload costs nothing and a file that shrinks meanwhile is an Error
/// (a memory map would end the process with SIGBUS). Not thread-safe.
class ByteSource {
 public:
  /// Bytes that Ahead() guarantees if the source has them.
  static constexpr std::int64_t kLookAhead = 32;

  /// Looks at `bytes`, which must outlive the source.
  explicit ByteSource(std::string_view bytes);
  /// Looks at a file.
  explicit ByteSource(RegularFile file);

  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Size in bytes, for a file as it was when it was opened.
  std::int64_t size() const { return size_; }

  /// Bytes starting at `offset` (in [0, size()]): at least min(kLookAhead, all
  /// that remain). Valid until the next call. Throws Error(kIo).
  std::string_view Ahead(std::int64_t offset);

  /// Appends the bytes [offset, offset + count) to `out`. The range must lie in
  /// the source. Throws Error(kIo).
  void Append(std::int64_t offset, std::int64_t count, std::string& out);

 private:
  void Refill(std::int64_t offset);
  void ReadExactly(std::int64_t offset, std::int64_t count, char* out) const;

  Descriptor file_;
  std::int64_t size_ = 0;
  std::int64_t refill_bytes_ = 0;
  std::int64_t window_begin_ = 0;
  std::string buffer_;       ///< Bytes of the window of a file.
  std::string_view window_;  ///< Bytes starting at window_begin_.
};

}  // namespace foretell::onnx
