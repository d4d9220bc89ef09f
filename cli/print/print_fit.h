#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "src/surrogate/comparison.h"

namespace foretell::cli {

/// How far off every method is, the formula of the chosen one, where it is
/// valid, and the front of size against error where one was searched for.
/// `unit` is printed after the target's name; empty: none is known.
std::string FormatComparison(const surrogate::Comparison& comparison,
                             const surrogate::ComparedRows& rows,
                             const std::string& unit);

/// How far off a stored model is on a table.
std::string FormatJudgement(surrogate::Method method,
                            const surrogate::HeldOutError& error);
nlohmann::ordered_json JudgementToJson(surrogate::Method method,
                                       const surrogate::HeldOutError& error);

}  // namespace foretell::cli
