#pragma once

#include <cstdint>
#include <string>

namespace foretell::cli {

/// Three significant digits below 1000, whole numbers above: "0.0123", "12.3",
/// "12345".
std::string FormatSignificant(double value);

/// With a decimal prefix: "25.6 M", "4.09 G", "512".
std::string FormatCount(std::int64_t value);

}  // namespace foretell::cli
