#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "src/surrogate/fit_model.h"

namespace foretell::surrogate {

/// Rows by purpose.
struct ComparedRows {
  Table fitted;
  /// Rows by which the best method is chosen; no rows: the first one is used.
  Table choosing;
  Table held_out;  ///< Rows for the error of all methods.
};

/// Several methods on the same rows.
struct Comparison {
  std::vector<FittedModel> models;
  std::vector<HeldOutError> errors;  ///< Of each model.
  std::size_t chosen = 0;
};

/// Fits every method and computes its error. If there are rows for choosing,
/// the shortest formula that is nearly as good on them as any is chosen, or if
/// no method has a formula the first method. `on_method` is called with each
/// method in turn.
Comparison Compare(const ComparedRows& rows, const std::vector<Method>& methods,
                   const EvolveOptions& options,
                   const std::function<void(Method)>& on_method = {});

/// The document of `foretell fit --json`; docs/fit.md has every field.
nlohmann::ordered_json ComparisonToJson(const Comparison& comparison,
                                        const ComparedRows& rows);

}  // namespace foretell::surrogate
