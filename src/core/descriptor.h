#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "src/core/deadline.h"

namespace foretell {

/// A file descriptor, closed with the object.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes ownership of `number`; a negative one is not a descriptor.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  bool is_open() const { return number_ >= 0; }
  /// For system calls; -1 when it is closed.
  int number() const { return number_; }
  void Close();
  /// Hands the descriptor over to a library that closes it.
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// What is written to one end is read from the other.
struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

/// A pipe that programs started from here do not see. Throws Error(kIo).
Pipe MakePipe();

/// Waits until one of the descriptors, of which negative ones are skipped, has
/// something to read or is closed at the other end, or until `deadline`.
void AwaitReadable(std::span<const int> descriptors, Deadline deadline);

/// Appends what is there to `bytes`, at most `most`, without waiting for more;
/// false once the stream has ended.
bool ReadAvailable(const Descriptor& from, std::size_t most,
                   std::string& bytes);

/// The text of an errno.
std::string SystemMessage(int error);

}  // namespace foretell
