#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/figure.h"
#include "foretell/host.h"
#include "foretell/run.h"

// What predictions miss on one machine, fitted to measured runs and applied by
// PredictorOptions::correction: `foretell adapt` corrects the figures of all
// models of a GPU (docs/adapting.md), `foretell calibrate` the memory of one
// model (docs/calibrating.md).

namespace foretell {

/// A number that the gap of one model depends on, and where a graph shows it.
struct ScopeFactor {
  enum class Place {
    kBatch,
    kLength,  ///< Dimension `dim` of the input `input`.
    kField,   ///< A number in the model's name: {NAME} in its scope.
  };

  std::string name;
  Place place = Place::kBatch;
  std::string input = {};
  std::int64_t dim = 0;
  /// Range over the measured runs.
  double lowest = 0;
  double highest = 0;
};

/// A dimension of an input in the runs. With neither field set it varied like
/// no factor, and graphs are not compared with it.
struct ScopeSize {
  std::optional<std::int64_t> size = {};  ///< Its size in all runs.
  std::string factor = {};                ///< Factor equal to it in every run.

  bool operator==(const ScopeSize&) const = default;
};

struct ScopeInput {
  std::string name;
  std::vector<ScopeSize> shape;
};

/// The fewest and the most of something in the runs.
struct ScopeRange {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
};

/// What graphs of one model's runs show apart from the factors: sizes that are
/// not factors, and counts of operators and parameters, which reveal another
/// loop or another file of that name.
struct ScopeStep {
  std::vector<ScopeInput> inputs;
  ScopeRange operators;
  ScopeRange parameters;  ///< Elements.
};

/// Which predictions a correction holds for.
struct CorrectionScope {
  /// File, or name in the zoo with {NAME} for fields; empty: any model.
  std::string model = {};
  /// "cpu", "cuda:0", a MIG instance's UUID; empty: not stated.
  std::string measured_on = {};
  std::string device = {};   ///< DeviceSpec::name.
  std::string context = {};  ///< ContextModel::name; matters to memory alone.
  Run run = {};
  /// @name Of one model; empty for any.
  /// @{
  std::vector<ScopeFactor> factors = {};
  std::optional<ScopeStep> step = {};  ///< Absent in files of older versions.
  /// @}

  bool IsOfOneModel() const { return !model.empty(); }
};

/// coefficient * factor^power * …, in MiB.
struct GapTerm {
  double coefficient = 0;
  std::vector<int> powers;  ///< One per factor of the scope, each >= 0.
};

/// What a correction changes.
struct CorrectionTerms {
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
  double memory_mib = 0;          ///< Added to the CUDA context.
  std::vector<GapTerm> gap = {};  ///< Their sum is added to the same.
  double energy_level = 0;  ///< Energy times exp of it, after the latency.

  /// Factor on the latency of a network of `macs` MACs.
  double LatencyFactor(double macs, double predicted_ms) const;
};

/// How far predictions are from measured rows: absolute errors as shares of
/// what was measured.
struct RowErrors {
  double median = 0;
  double mean = 0;
};

/// What the rows show about one corrected figure. Errors are on rows that were
/// left out of the fit.
struct CorrectedFigure {
  int rows = 0;           ///< With this figure.
  RowErrors before = {};  ///< Not stored for one model.
  RowErrors after = {};   ///< Of one model the mean alone.
  /// Largest |log(measured / corrected)|.
  double largest_residual = 0;
  /// What |log(measured / corrected)| stays below in 90 % of cases, or in all
  /// runs of one model; empty if there are too few rows.
  std::optional<double> half_width = {};
  /// FigureSource::method of what it corrects, sorted, each once.
  std::vector<std::string> corrects = {};

  /// The memory of one model by `runs` of it; errors of runs that were left out
  /// as shares of 1, their mean and the largest.
  static CorrectedFigure OfOneModel(int runs, double mean_error,
                                    double largest_error);
};

/// What predictions miss, where that is known, and how well.
struct Correction {
  std::string origin = {};  ///< File, as errors name it; not in the document.
  CorrectionScope scope = {};
  CorrectionTerms terms = {};
  int rows = 0;
  int networks = 0;
  /// By Target; empty: not corrected, regardless of the terms.
  std::array<std::optional<CorrectedFigure>, kNumTargets> figures = {};

  const std::optional<CorrectedFigure>& operator[](Target target) const {
    return figures[static_cast<std::size_t>(target)];
  }
  std::optional<CorrectedFigure>& operator[](Target target) {
    return figures[static_cast<std::size_t>(target)];
  }
};

/// Version of the document; grows when a field changes its meaning.
inline constexpr int kCorrectionSchemaVersion = 1;

/// A JSON document, whose "format" is "calibration" for one model and
/// "adaptation" for all: docs/calibrating.md and docs/adapting.md describe
/// every field.
std::string CorrectionToJson(const Correction& correction);
/// Reads what CorrectionToJson writes; a document without "format" is an
/// adaptation. Throws Error that names `origin`, the field and its value:
/// kCorrupt, also for a document of another kind, and kUnsupported for another
/// version.
Correction CorrectionFromJson(std::string_view json, const std::string& origin);

}  // namespace foretell
