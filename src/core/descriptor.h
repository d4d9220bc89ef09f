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
  /// Gives up ownership, to a library that closes it.
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// A pipe: bytes written to one end are read from the other.
struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

/// A close-on-exec pipe. Throws Error(kIo).
Pipe MakePipe();

/// Waits until one of the descriptors, of which negative ones are skipped, has
/// something to read or is closed at the other end, or until `deadline`.
void AwaitReadable(std::span<const int> descriptors, Deadline deadline);

/// Appends available bytes, at most `most`, to `bytes` without waiting; false
/// once the stream has ended.
bool ReadAvailable(const Descriptor& from, std::size_t most,
                   std::string& bytes);

/// The text of an errno.
std::string SystemMessage(int error);

}  // namespace foretell
