#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "foretell/error.h"

namespace foretell {

/// Reads the parts of a pickle's instructions from left to right, and never
/// more than there is.
class PickleCursor {
 public:
  /// `place` begins the messages: the file, and the record in it. `bytes` must
  /// outlive the cursor.
  PickleCursor(std::string place, std::string_view bytes);

  /// The next `count` bytes. Throws as Refuse if fewer are left.
  std::string_view Take(std::uint64_t count);
  /// A number of `width` <= 8 bytes, the least significant first.
  std::uint64_t Number(std::uint64_t width);
  /// The text up to the next line end, without it.
  std::string_view TakeLine();
  /// Bytes of the whole pickle.
  std::size_t size() const { return bytes_.size(); }

  /// Throws Error: `place: byte N: why`.
  [[noreturn]] void Refuse(const std::string& why,
                           ErrorCode code = ErrorCode::kCorrupt) const;

 private:
  std::string place_;
  std::string_view bytes_;
  std::size_t position_ = 0;
};

}  // namespace foretell
