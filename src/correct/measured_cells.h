#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace foretell {

/// A row of measurements: text by the name of its column.
using MeasuredCells = std::map<std::string, std::string, std::less<>>;

/// The document of `foretell measure --json` as the cells that --csv prints for
/// it, as far as predictions need them. Throws Error(kCorrupt) that names
/// `origin` and the field.
std::vector<MeasuredCells> CellsOfMeasurements(std::string_view json,
                                               const std::string& origin);

}  // namespace foretell
