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
  /// Longest message that is accepted unless LimitMessages sets a lower limit.
  /// The channel of a sender that announces a longer one is closed.
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
  /// Longest message of an error; SendError cuts the rest.
  static constexpr std::int64_t kMostErrorBytes = 4096;

  explicit Channel(Descriptor end) : end_(std::move(end)) {}

  /// Accepts messages of at most `most` bytes from now on.
  void LimitMessages(std::int64_t most) { most_bytes_ = most; }

  /// Sends all of `message`; false when the other end is closed, or when
  /// `deadline` passes first, after which nothing more can be sent.
  bool Send(std::string_view message, Deadline deadline = {});
  /// Makes the other end's Receive throw: an Error unchanged, any other
  /// exception as one of kind kInternal.
  bool SendError(const std::exception& error);

  /// The next message; empty when `deadline` passes before it is complete, or
  /// when no more will come, which is_closed() shows. Throws what was sent by
  /// SendError.
  std::optional<std::string> Receive(Deadline deadline = {});

  /// True if the other end is known to be closed.
  bool is_closed() const { return is_closed_; }
  /// Reason for which this end closed the channel; empty if it did not.
  const std::string& offence() const { return offence_; }
  const Descriptor& end() const { return end_; }

 private:
  bool SendFrame(char kind, std::string_view text, Deadline deadline);
  /// Whether the announced frame is accepted; cuts the sender off otherwise.
  bool Accepts(char kind, std::int64_t length);
  std::optional<std::string> TakeFrame();

  Descriptor end_;
  std::int64_t most_bytes_ = kMostBytes;
  std::string received_;
  bool is_closed_ = false;
  std::string offence_;
};

/// Both ends, close-on-exec. Throws Error(kIo).
std::pair<Channel, Channel> MakeChannel();

}  // namespace foretell
