#include "src/core/pickle_cursor.h"

#include <fmt/core.h>

#include <utility>

#include "src/core/numbers.h"

namespace foretell {

PickleCursor::PickleCursor(std::string place, std::string_view bytes)
    : place_(std::move(place)), bytes_(bytes) {}

std::string_view PickleCursor::Take(std::uint64_t count) {
  const std::size_t left = bytes_.size() - position_;
  if (count > left) {
    Refuse(fmt::format("needs {}, {} left", Counted(count, "byte"), left));
  }
  const std::string_view bytes =
      bytes_.substr(position_, static_cast<std::size_t>(count));
  position_ += bytes.size();
  return bytes;
}

std::uint64_t PickleCursor::Number(std::uint64_t width) {
  std::uint64_t number = 0;
  const std::string_view bytes = Take(width);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    number |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i]))
              << (8 * i);
  }
  return number;
}

std::string_view PickleCursor::TakeLine() {
  const std::size_t end = bytes_.find('\n', position_);
  if (end == std::string_view::npos) Refuse("a line without an end");
  const std::string_view line = bytes_.substr(position_, end - position_);
  position_ = end + 1;
  return line;
}

void PickleCursor::Refuse(const std::string& why, ErrorCode code) const {
  throw Error(code, fmt::format("{}: byte {}: {}", place_, position_, why));
}

}  // namespace foretell
