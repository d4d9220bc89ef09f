#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foretell::cli {

/// State of a part of an installation.
enum class Health : std::uint8_t {
  kOk,
  kNote,    ///< Absent, and not needed for predictions.
  kBroken,  ///< Predictions are wrong, unsafe or impossible.
};

/// "ok", "note" or "broken".
const char* HealthName(Health health);

/// Result of `foretell doctor` for one part.
struct Finding {
  Health health = Health::kOk;
  std::string part;  ///< "LibTorch", one word or two.
  std::string text;  ///< What was found; if missing, how to fix that.
};

/// Tests this installation: one finding per part, in output order. Does not
/// throw for a broken part.
std::vector<Finding> Examine();

}  // namespace foretell::cli
