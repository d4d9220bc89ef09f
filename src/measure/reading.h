#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foretell/measure.h"

namespace foretell::measure {

/// A value read from a device, or the reason why it is missing.
template <typename T>
struct Reading {
  std::optional<T> value;
  std::string reason;  ///< Empty when there is a value.

  static Reading Of(T value) { return {std::move(value), ""}; }
  static Reading Missing(std::string reason) {
    return {std::nullopt, std::move(reason)};
  }
  bool has_value() const { return value.has_value(); }
};

/// The value of `reading`; if missing, adds a note with the reason for `what`.
template <typename T>
std::optional<T> ValueOrNote(const Reading<T>& reading, const char* what,
                             std::vector<MeasureNote>& notes) {
  if (!reading.value) notes.push_back({what, reading.reason});
  return reading.value;
}

}  // namespace foretell::measure
