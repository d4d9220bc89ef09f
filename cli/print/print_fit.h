#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "src/surrogate/comparison.h"

namespace foretell::cli {

/// The error of every method, the formula of the chosen one, its valid range,
/// and the Pareto front of size against error if formulas were searched. `unit`
/// is printed after the target's name; empty: none is known.
std::string FormatComparison(const surrogate::Comparison& comparison,
                             const surrogate::ComparedRows& rows,
                             const std::string& unit);

/// The error of a stored model on a table.
std::string FormatJudgement(surrogate::Method method,
                            const surrogate::HeldOutError& error);
nlohmann::ordered_json JudgementToJson(surrogate::Method method,
                                       const surrogate::HeldOutError& error);

}  // namespace foretell::cli
