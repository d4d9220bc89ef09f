#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/core/descriptor.h"

namespace foretell {

/// One end of a stream of messages between two processes. A message arrives
/// whole or not at all, and an exception in one process is thrown in the other.
class Channel {
 public:
  /// Longest message that is taken; who announces a longer one is cut off.
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

  explicit Channel(Descriptor end) : end_(std::move(end)) {}

  /// Sends all of `message`; false when the other end is closed.
  bool Send(std::string_view message);
  /// Makes the other end's Receive throw: an Error as it is, any other
  /// exception as one of kind kInternal.
  bool SendError(const std::exception& error);

  /// The next message; empty when `deadline` passes before it is complete, or
  /// when there will be none: is_closed() tells. Throws what was sent by
  /// SendError.
  std::optional<std::string> Receive(Deadline deadline = {});

  /// Whether the other end is known to be closed.
  bool is_closed() const { return is_closed_; }
  const Descriptor& end() const { return end_; }

 private:
  bool SendFrame(char kind, std::string_view text);
  std::optional<std::string> TakeFrame();

  Descriptor end_;
  std::string received_;
  bool is_closed_ = false;
};

/// Both ends, not seen by programs that are started. Throws Error(kIo).
std::pair<Channel, Channel> MakeChannel();

}  // namespace foretell
