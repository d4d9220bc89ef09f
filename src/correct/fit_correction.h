#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foretell/correction.h"
#include "foretell/prediction.h"

namespace foretell {

/// Fewer rows than this show more about themselves than about a machine.
inline constexpr std::size_t kFewestRows = 5;

/// Hosts for which rows are predicted, as multiples of the host factor that is
/// started from: a quarter to four, in equal steps of the logarithm; the middle
/// one is 1.
std::vector<double> HostFactors();

/// A measured row and what is predicted for it.
struct PredictedRow {
  std::string network;  ///< Rows of one network are left out together.
  double macs = 0;
  /// By Target; empty: not measured. Above 0.
  std::array<std::optional<double>, kNumTargets> measured = {};
  double memory_mib = 0;  ///< Predicted.
  /// HostSpec::factor that predictions start from.
  double host_factor = 1;
  /// Predicted on hosts HostFactors() times as slow, in their order.
  std::vector<double> latency_ms = {};
  std::vector<double> energy_j = {};
  /// Energy is the analytic power over the latency.
  bool energy_follows = true;
  /// FigureSource::method by Target.
  std::array<std::string, kNumTargets> methods = {};

  /// Takes over what is predicted on the next host.
  void Add(const Prediction& prediction);
};

/// What a fit found.
struct CorrectionFit {
  Correction correction;
  /// Figures whose mean error is larger after than before, for rows that were
  /// left out: the correction makes them worse.
  std::vector<Target> worse;
  std::vector<std::string> warnings;  ///< What the rows cannot show.
};

/// Fits the figures `targets` to `rows`; `about` has their scope, and the host
/// from which predictions start. Every figure's errors are on rows that were
/// left out: network by network, or row by row if there are fewer than three
/// networks.
///
/// Latency: the host factor is searched for, on a grid and then between its
/// points; at each one level and exponent are FitLevelAndExponent's. Memory: a
/// constant. Energy: a level, on top of what the latency's correction does.
///
/// Throws Error(kInvalidArgument) for a target that fewer than kFewestRows rows
/// have.
CorrectionFit FitCorrection(std::span<const PredictedRow> rows,
                            std::span<const Target> targets,
                            const Correction& about);

}  // namespace foretell
