#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

/// What a child that lies says, and with what it is said.
namespace foretell::lies {

inline constexpr std::int64_t kMega = std::int64_t{1} << 20;
inline constexpr std::string_view kSteering =
    "\x1b[31m\x1b]0;x\a \xe2\x80\xae </script>\nforetell: error: forged\n";

/// The C library's own send().
ssize_t RealSend(int socket, const void* bytes, std::size_t size, int flags);

/// Waits until it is killed, and takes no processor meanwhile.
[[noreturn]] inline void Wait() {
  while (true) poll(nullptr, 0, -1);
}

/// The answer that is replaced, and what is said instead.
class Lie {
 public:
  Lie(int socket, std::string_view frame) : socket_(socket), frame_(frame) {}

  std::string_view frame() const { return frame_; }
  std::string_view body() const { return frame_.substr(9); }
  int socket() const { return socket_; }
  void set_flags(int flags) { flags_ = flags; }

  void Raw(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent =
          RealSend(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | flags_);
      if (sent <= 0) Wait();
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void Number(std::int64_t value) {
    Raw({reinterpret_cast<const char*>(&value), sizeof(value)});
  }
  void Byte(char byte) { Raw({&byte, 1}); }
  void Header(char kind, std::int64_t length) {
    Byte(kind);
    Number(length);
  }
  void Frame(char kind, std::string_view body) {
    Header(kind, std::ssize(body));
    Raw(body);
  }
  /// `bytes` of `pattern` over and over.
  void Fill(std::string_view pattern, std::int64_t bytes) {
    std::string block;
    while (block.size() < 65536) block += pattern;
    while (bytes > 0) {
      const auto count = std::min<std::int64_t>(bytes, std::ssize(block));
      Raw(std::string_view(block).substr(0, static_cast<std::size_t>(count)));
      bytes -= count;
    }
  }
  /// The same as a text with its length.
  void FillText(std::string_view pattern, std::int64_t bytes) {
    Number(bytes);
    Fill(pattern, bytes);
  }

 private:
  int socket_;
  std::string_view frame_;
  int flags_ = 0;
};

/// A body that is made before it is sent.
class Body {
 public:
  Body& Number(std::int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Body& Byte(char byte) {
    bytes_ += byte;
    return *this;
  }
  Body& Text(std::string_view text) {
    Number(std::ssize(text));
    bytes_ += text;
    return *this;
  }
  /// An input's name, with no number that fills it, and none that it is;
  /// needed.
  Body& InputCalled(std::string_view name) {
    return Text(name).Number(0).Byte(0).Byte(0);
  }
  /// An input without a type and dimensions.
  Body& Input(std::string_view name) {
    return InputCalled(name).Byte(0).Byte(0);
  }
  /// Parameters, element types, and warnings of both modes: none.
  Body& NoMore() { return Number(0).Number(0).Number(0).Number(0); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

enum Which : std::uint8_t { kDescription, kTrace };

struct Row {
  const char* name;
  Which replaces;
  void (*tell)(Lie& lie);
};

std::span<const Row> LiesOfFrames();
std::span<const Row> LiesOfDescriptions();
std::span<const Row> LiesOfTraces();
std::span<const Row> WaysOut();

}  // namespace foretell::lies
