#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "src/core/failure.h"
#include "src/core/numbers.h"

namespace foretell {

/// A message between processes on one machine: numbers in native layout,
/// strings preceded by their length.
class ByteWriter {
 public:
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void Number(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Text(std::string_view text) {
    Number(std::uint64_t{text.size()});
    bytes_ += text;
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what ByteWriter wrote. Throws Error(kInternal) at its end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T Number() {
    T value;
    const std::string_view bytes = Next(sizeof(value));
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }
  std::string Text() { return std::string(View()); }
  /// A text as part of the message that is read.
  std::string_view View() { return Next(Number<std::uint64_t>()); }
  /// Bytes that are not read yet.
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view Next(std::size_t size) {
    if (size > rest_.size()) {
      throw InternalFailure("a message that ends early: {} left, expected {}",
                            Counted(rest_.size(), "byte"), size);
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view rest_;
};

}  // namespace foretell
