#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace foretell::training {

/// `value` as a JSON number; null where it is infinite or none.
inline nlohmann::ordered_json JsonNumber(double value) {
  if (!std::isfinite(value)) return nullptr;
  return value;
}

}  // namespace foretell::training
