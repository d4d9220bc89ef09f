#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace foretell::cli {

/// One line: the model, how it runs, and its device, of an answer of
/// ReportToJson, after `side`.
std::string FormatSettings(std::string_view side,
                           const nlohmann::ordered_json& answer);

/// "and 3 modules more (--modules)", of a `noun` of `count`; empty for none.
std::string RowsLeftOut(std::size_t count, std::string_view noun);

/// The document of pictures::DifferenceToJson as text, within 80 columns: both
/// settings, the figures, and the first `most` modules that changed.
std::string FormatDifference(const nlohmann::ordered_json& difference,
                             std::size_t most);

}  // namespace foretell::cli
