#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foretell/graph.h"
#include "foretell/run.h"

// The memory of one model that estimates miss on one machine: `foretell
// calibrate` measures a few runs and fits it, PredictorOptions::calibration
// adds it. docs/calibrating.md has the method.

namespace foretell {

/// A number that a calibration's gap depends on, and where a graph shows it.
struct CalibratedFactor {
  enum class Place {
    kBatch,
    kLength,  ///< Dimension `dim` of the input `input`.
    kField,   ///< A number in the model's name: {NAME} in Calibration::model.
  };

  std::string name;
  Place place = Place::kBatch;
  std::string input = {};
  std::int64_t dim = 0;
  /// Range over the measured runs.
  double lowest = 0;
  double highest = 0;
};

/// coefficient * factor^power * …, in MiB.
struct GapTerm {
  double coefficient = 0;
  std::vector<int> powers;  ///< One per factor, each >= 0.
};

/// A dimension of an input in the runs. With neither field set it varied like
/// no factor, and graphs are not compared with it.
struct CalibratedSize {
  std::optional<std::int64_t> size = {};  ///< Its size in all runs.
  std::string factor = {};                ///< Factor equal to it in every run.

  bool operator==(const CalibratedSize&) const = default;
};

struct CalibratedInput {
  std::string name;
  std::vector<CalibratedSize> shape;
};

/// The fewest and the most of something in the runs.
struct CalibratedRange {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
};

/// What graphs of the runs show apart from the factors: sizes that are not
/// factors, and counts of operators and parameters, which reveal another loop
/// or another file of that name.
struct CalibratedStep {
  std::vector<CalibratedInput> inputs;
  CalibratedRange operators;
  CalibratedRange parameters;  ///< Elements.
};

/// What one run's graph shows.
struct ShownStep {
  std::vector<double> factors;  ///< Values, in the order of the names.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> inputs;
  std::int64_t operators = 0;
  std::int64_t parameters = 0;
};
ShownStep ShownBy(const OperatorGraph& graph, std::vector<double> factors);

/// What `runs` of one model have in common; `names` are its factors. Requires
/// at least one run.
CalibratedStep CommonStep(std::span<const ShownStep> runs,
                          std::span<const std::string> names);

/// Measured minus estimated memory of a model, as a polynomial of its factors.
struct Calibration {
  std::string origin;  ///< File, as errors name it; not part of the document.
  std::string model;   ///< File, or name in the zoo with {NAME} for fields.
  std::string measured_on;  ///< "cpu", "cuda:0", a MIG instance's UUID.
  std::string device;       ///< DeviceSpec::name of the estimates.
  std::string context;      ///< ContextModel::name of the estimates.
  Run run;
  int runs = 0;
  /// Shares of 1, on runs that were left out of the fit one at a time.
  double error_left_out = 0;
  double largest_error_left_out = 0;
  std::vector<CalibratedFactor> factors;
  std::vector<GapTerm> gap;
  /// Absent in files of older versions.
  std::optional<CalibratedStep> step = {};
};

/// The gap at one graph.
struct GapAt {
  double mib = 0;
  /// What lies outside of the runs, "batch 64, of 1 to 32": the gap is that of
  /// the nearest point inside. Factors, sizes that are not factors, and counts
  /// of CalibratedStep.
  std::vector<std::string> outside;
};

/// Throws Error(kInvalidArgument) that names the calibration's origin and both
/// models if `graph` is of another model, and for an input that it lacks.
GapAt GapOf(const Calibration& calibration, const OperatorGraph& graph);

/// Version of the document; grows when a field changes its meaning.
inline constexpr int kCalibrationSchemaVersion = 1;
/// Its "format".
inline constexpr std::string_view kCalibrationFormat = "calibration";

/// A JSON document; docs/calibrating.md describes every field.
std::string CalibrationToJson(const Calibration& calibration);
/// Reads what CalibrationToJson writes. Throws Error that names `origin`, the
/// field and its value: kCorrupt, and kUnsupported for another version.
Calibration CalibrationFromJson(std::string_view json,
                                const std::string& origin);

}  // namespace foretell
