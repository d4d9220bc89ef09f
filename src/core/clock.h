#pragma once

#include <string>

namespace foretell {

/// The time now in UTC: "2026-01-31T12:00:00Z".
std::string NowUtc();

}  // namespace foretell
