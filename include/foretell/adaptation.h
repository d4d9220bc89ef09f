#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/figure.h"
#include "foretell/host.h"
#include "foretell/run.h"

// Predictions brought into line with what one machine measured: `foretell
// adapt` fits an Adaptation to a few rows, PredictorOptions::adaptation applies
// it. docs/adapting.md has the formulas.

namespace foretell {

/// How far predictions are from measured rows: absolute errors as shares of
/// what was measured.
struct RowErrors {
  double median = 0;
  double mean = 0;
};

/// What the rows show about one adapted figure. Errors are on rows that were
/// left out of the fit.
struct AdaptedFigure {
  int rows = 0;  ///< With this figure.
  RowErrors before;
  RowErrors after;
  /// Largest |log(measured / adapted)|.
  double largest_residual = 0;
  /// What |log(measured / adapted)| stays below in 90 % of cases; empty if
  /// there are too few rows.
  std::optional<double> half_width = {};
  /// FigureSource::method of what it corrects, sorted, each once.
  std::vector<std::string> corrects = {};
};

/// Corrections of the figures of one device, one kind of run and one
/// environment.
struct Adaptation {
  std::string origin;   ///< File, as errors name it; not part of the document.
  std::string device;   ///< DeviceSpec::name.
  std::string context;  ///< ContextModel::name; matters to memory alone.
  Run run;
  int rows = 0;
  int networks = 0;

  /// Whose CPU dispatches the operators: the factor fitted from the rows.
  /// Name and spread are those of the host that predictions started from.
  HostSpec host = {};
  /// @name Latency times exp(level + exponent * log(rate / reference_rate))
  /// where rate is MACs over predicted ms, clamped to the range of the rows'
  /// rates.
  /// @{
  double level = 0;
  double exponent = 0;
  double reference_rate = 1;
  double lowest_rate = 1;
  double highest_rate = 1;
  /// @}
  double memory_mib = 0;    ///< Added to the CUDA context.
  double energy_level = 0;  ///< Energy times exp of it, after the latency.

  /// By Target; empty: not adapted, regardless of the numbers above.
  std::array<std::optional<AdaptedFigure>, kNumTargets> figures = {};

  const std::optional<AdaptedFigure>& operator[](Target target) const {
    return figures[static_cast<std::size_t>(target)];
  }
  std::optional<AdaptedFigure>& operator[](Target target) {
    return figures[static_cast<std::size_t>(target)];
  }
  /// Factor on the latency of a network of `macs` MACs.
  double LatencyFactor(double macs, double predicted_ms) const;
};

/// Version of the document; grows when a field changes its meaning.
inline constexpr int kAdaptationSchemaVersion = 1;

/// Its "format"; absent in documents from before this field existed.
inline constexpr std::string_view kAdaptationFormat = "adaptation";

/// A JSON document; docs/adapting.md describes every field.
std::string AdaptationToJson(const Adaptation& adaptation);
/// Reads what AdaptationToJson writes. Throws Error that names `origin`, the
/// field and its value: kCorrupt, and kUnsupported for another version.
Adaptation AdaptationFromJson(std::string_view json, const std::string& origin);

}  // namespace foretell
