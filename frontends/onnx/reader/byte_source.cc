#include "frontends/onnx/reader/byte_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "src/core/failure.h"

namespace foretell::onnx {
namespace {

// After a jump usually comes the header of one more tensor; in a sequence of
// nodes the window grows.
constexpr std::int64_t kFirstWindow = 4 << 10;
constexpr std::int64_t kLargestWindow = 256 << 10;

}  // namespace

ByteSource::ByteSource(std::string_view bytes)
    : size_(static_cast<std::int64_t>(bytes.size())), window_(bytes) {}

ByteSource::ByteSource(RegularFile file)
    : file_(std::move(file.descriptor)),
      size_(file.size),
      refill_bytes_(kFirstWindow) {
  // Read-ahead would fetch weights from disk that are never read.
  posix_fadvise(file_.number(), 0, 0, POSIX_FADV_RANDOM);
}

std::string_view ByteSource::Ahead(std::int64_t offset) {
  const std::int64_t wanted = std::min(kLookAhead, size_ - offset);
  const std::int64_t window_end =
      window_begin_ + static_cast<std::int64_t>(window_.size());
  if (offset < window_begin_ || offset + wanted > window_end) Refill(offset);
  return window_.substr(static_cast<size_t>(offset - window_begin_));
}

void ByteSource::Append(std::int64_t offset, std::int64_t count,
                        std::string& out) {
  const std::int64_t skipped = offset - window_begin_;
  const std::int64_t held = static_cast<std::int64_t>(window_.size());
  if (skipped >= 0 && skipped + count <= held) {
    out.append(window_.substr(static_cast<size_t>(skipped),
                              static_cast<size_t>(count)));
    return;
  }
  const size_t old_size = out.size();
  out.resize(old_size + static_cast<size_t>(count));
  ReadExactly(offset, count, out.data() + old_size);
}

void ByteSource::Refill(std::int64_t offset) {
  const std::int64_t window_end =
      window_begin_ + static_cast<std::int64_t>(window_.size());
  const bool sequential = offset >= window_begin_ && offset <= window_end;
  refill_bytes_ =
      sequential ? std::min(2 * refill_bytes_, kLargestWindow) : kFirstWindow;
  const std::int64_t count = std::min(refill_bytes_, size_ - offset);
  if (static_cast<std::int64_t>(buffer_.size()) < count) {
    buffer_.resize(static_cast<size_t>(count));
  }
  window_ = {};
  ReadExactly(offset, count, buffer_.data());
  window_begin_ = offset;
  window_ = std::string_view(buffer_).substr(0, static_cast<size_t>(count));
}

void ByteSource::ReadExactly(std::int64_t offset, std::int64_t count,
                             char* out) const {
  while (count > 0) {
    const ssize_t got =
        pread(file_.number(), out, static_cast<size_t>(count), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw IoFailure("byte {}: cannot be read: {}", offset,
                      SystemMessage(errno));
    }
    if (got == 0) {
      throw IoFailure(
          "the file shrank while it was read: it had {} bytes, now at most {}",
          size_, offset);
    }
    out += got;
    offset += got;
    count -= got;
  }
}

}  // namespace foretell::onnx
