#pragma once

namespace foretell {

/// Version of foretell, "major.minor.patch".
inline constexpr char kVersion[] = "0.1.0";

}  // namespace foretell
