#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "foretell/frontends.h"
#include "frontends/onnx/fusion/match.h"

namespace foretell::onnx {

/// The replacement of the pattern whose last node is `match.last()` (for
/// Unbind: whose first node it is); empty optional if there is no pattern.
using FusionRule = std::optional<Replacement> (*)(Match match);

/// A row of the table of patterns.
struct FusionRow {
  std::string_view last_op;  ///< ai.onnx operator of `match.last()`.
  FusionRule rule;
  /// The least setting that applies the rule.
  Fusion setting = Fusion::kExported;
};

/// All rows; of those with the same last operator, earlier ones go first.
std::span<const FusionRow> FusionRows();

// attention_rules.cc
std::optional<Replacement> FuseExportedAttention(Match match);
std::optional<Replacement> FuseWrittenOutAttention(Match match);

// activation_rules.cc
std::optional<Replacement> FuseGelu(Match match);
std::optional<Replacement> FuseRegroupedGelu(Match match);
std::optional<Replacement> FuseSilu(Match match);
std::optional<Replacement> FuseMish(Match match);
std::optional<Replacement> FuseSoftplus(Match match);
std::optional<Replacement> FuseHardSwish(Match match);
std::optional<Replacement> FuseClippedHardSwish(Match match);

// elementwise_rules.cc
std::optional<Replacement> FuseAddcmul(Match match);

// normalization_rules.cc
std::optional<Replacement> FuseLayerNorm(Match match);
std::optional<Replacement> FuseRmsNorm(Match match);
std::optional<Replacement> FuseWrittenOutRmsNorm(Match match);
std::optional<Replacement> FuseGroupNorm(Match match);
std::optional<Replacement> FuseBatchStatistics(Match match);

// view_rules.cc
std::optional<Replacement> FuseUnbind(Match match);
std::optional<Replacement> FuseSlicedUnbind(Match match);

// roll_rules.cc
std::optional<Replacement> FuseRoll(Match match);

// recurrent_rules.cc
std::optional<Replacement> FuseRecurrentWeights(Match match);

// linear_rules.cc
std::optional<Replacement> FuseLinear(Match match);

}  // namespace foretell::onnx
