// A frame is a byte that states its kind, eight bytes of length and the text.
// A message is of kind 0, an error of kind 1 + its code. The two ends are
// sockets, not pipes: a write to a process that has died then returns an error
// instead of raising SIGPIPE.
#include "src/core/channel.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "foretell/error.h"
#include "src/core/failure.h"
#include "src/core/shortened.h"

namespace foretell {
namespace {

constexpr char kMessage = 0;
constexpr std::size_t kHeaderBytes = 1 + sizeof(std::int64_t);
constexpr std::size_t kReadBytes = std::size_t{1} << 20;
/// What may be sent before the other end reads: some graphs.
constexpr int kSentAhead = 4 << 20;

ErrorCode CodeOf(char kind) {
  const int code = kind - 1;
  const bool is_known =
      code >= 0 && code <= static_cast<int>(ErrorCode::kInternal);
  return is_known ? static_cast<ErrorCode>(code) : ErrorCode::kInternal;
}

/// Waits until something can be sent to `end`, or until `deadline`.
void AwaitWritable(const Descriptor& end, Deadline deadline) {
  pollfd file = {end.number(), POLLOUT, 0};
  poll(&file, 1, deadline.PollMilliseconds(std::numeric_limits<int>::max()));
}

}  // namespace

bool Channel::Send(std::string_view message, Deadline deadline) {
  return SendFrame(kMessage, message, deadline);
}

bool Channel::SendError(const std::exception& error) {
  const auto* own = dynamic_cast<const Error*>(&error);
  const ErrorCode code = own != nullptr ? own->code() : ErrorCode::kInternal;
  return SendFrame(static_cast<char>(1 + static_cast<int>(code)),
                   Shortened(error.what(), kMostErrorBytes), {});
}

bool Channel::SendFrame(char kind, std::string_view text, Deadline deadline) {
  const std::int64_t length = std::ssize(text);
  std::string frame(kHeaderBytes, kind);
  std::memcpy(frame.data() + 1, &length, sizeof(length));
  frame += text;
  std::string_view rest = frame;
  while (!rest.empty()) {
    const ssize_t sent = send(end_.number(), rest.data(), rest.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (deadline.HasPassed()) return false;
      AwaitWritable(end_, deadline);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::optional<std::string> Channel::Receive(Deadline deadline) {
  const std::array<int, 1> ends = {end_.number()};
  while (true) {
    if (std::optional<std::string> message = TakeFrame()) return message;
    if (is_closed_) return std::nullopt;
    const bool is_late = deadline.HasPassed();
    const std::size_t before = received_.size();
    if (!is_late) AwaitReadable(ends, deadline);
    is_closed_ = !ReadAvailable(end_, kReadBytes, received_);
    const bool is_stuck = received_.size() == before && !is_closed_;
    if (is_late && is_stuck) return std::nullopt;
  }
}

std::optional<std::string> Channel::TakeFrame() {
  if (received_.size() < kHeaderBytes) return std::nullopt;
  std::int64_t length = 0;
  std::memcpy(&length, received_.data() + 1, sizeof(length));
  const char kind = received_.front();
  if (!Accepts(kind, length)) return std::nullopt;
  const std::size_t end = kHeaderBytes + static_cast<std::size_t>(length);
  if (received_.size() < end) {
    // Grows once: what was announced and does not come uses no memory.
    received_.reserve(end);
    return std::nullopt;
  }
  std::string text;
  if (received_.size() == end) {
    text = std::exchange(received_, {});
    text.erase(0, kHeaderBytes);
  } else {
    text = received_.substr(kHeaderBytes, end - kHeaderBytes);
    received_.erase(0, end);
  }
  if (kind != kMessage) throw Error(CodeOf(kind), text);
  return text;
}

bool Channel::Accepts(char kind, std::int64_t length) {
  const std::int64_t most = kind == kMessage ? most_bytes_ : kMostErrorBytes;
  if (length >= 0 && length <= most) return true;
  is_closed_ = true;
  received_ = {};
  offence_ = fmt::format("announced a message of {} bytes, expected at most {}",
                         length, most);
  return false;
}

std::pair<Channel, Channel> MakeChannel() {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw IoFailure("socketpair: {}", SystemMessage(errno));
  }
  for (const int end : ends) {
    // No more than the system allows: then the sender waits sooner.
    setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kSentAhead, sizeof(kSentAhead));
  }
  return {Channel(Descriptor(ends[0])), Channel(Descriptor(ends[1]))};
}

}  // namespace foretell
