#pragma once

#include <optional>
#include <string_view>

namespace foretell {

/// Units of ParseBytes, for messages.
inline constexpr std::string_view kMemoryUnitsText =
    "B, KiB, MiB, GiB, TiB, kB, MB, GB or TB";

/// "16GiB", "1.5 GB" or "768mib" in bytes: a number and a unit,
/// case-insensitive. Empty for anything else.
std::optional<double> ParseBytes(std::string_view text);

/// The same in MiB, and a number alone is MiB: "10GB", "8000".
std::optional<double> ParseMib(std::string_view text);

}  // namespace foretell
