#include "src/core/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>
#include <vector>

#include "src/core/failure.h"

namespace foretell {
namespace {

constexpr std::size_t kBufferBytes = 65536;

/// Whether a read from `number` would return at once.
bool IsReadable(int number) {
  pollfd file = {number, POLLIN, 0};
  return poll(&file, 1, 0) > 0;
}

}  // namespace

std::string SystemMessage(int error) {
  return std::generic_category().message(error);
}

void Descriptor::Close() {
  if (number_ >= 0) close(number_);
  number_ = -1;
}

Pipe MakePipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw IoFailure("pipe: {}", SystemMessage(errno));
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void AwaitReadable(std::span<const int> descriptors, Deadline deadline) {
  std::vector<pollfd> files;
  for (const int number : descriptors) files.push_back({number, POLLIN, 0});
  constexpr int kMost = std::numeric_limits<int>::max();
  do {
    if (poll(files.data(), files.size(), deadline.PollMilliseconds(kMost)) >
        0) {
      return;
    }
  } while (!deadline.HasPassed());
}

bool ReadAvailable(const Descriptor& from, std::size_t most,
                   std::string& bytes) {
  std::array<char, kBufferBytes> buffer;
  while (most > 0 && IsReadable(from.number())) {
    const ssize_t count =
        read(from.number(), buffer.data(), std::min(most, buffer.size()));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return false;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
    most -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace foretell
