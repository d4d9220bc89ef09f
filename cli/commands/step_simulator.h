#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "foretell/advise.h"

namespace foretell::cli {

/// One model, whose step is predicted again and again with something changed.
class StepSimulator {
 public:
  /// Opens the only model of `model`, which must outlive it. `batch` is empty
  /// where the file or --input gives it. Throws what OpenModel,
  /// DeviceFlags::Find and PredictorFlags::ToOptions throw.
  StepSimulator(const ModelOptions& model, const PredictorFlags& predictor,
                std::optional<std::int64_t> batch);
  /// Its options point to its catalogue.
  StepSimulator(const StepSimulator&) = delete;
  StepSimulator& operator=(const StepSimulator&) = delete;

  /// The step that the flags describe. Throws what
  /// ModelOptions::ToTraceOptions throws.
  StepSetup Setup() const;
  /// Samples of one batch, by the leading dimension of the first input that has
  /// one.
  std::int64_t Batch() const;
  /// Throws what TraceProgram and Predictor::Predict throw, and
  /// Error(kInvalidArgument) for a batch that cannot be divided so.
  Trace TraceStep(const StepSetup& setup) const;
  /// The prediction of a step on `device`. Throws as TraceStep, and what
  /// Predictor::Make throws.
  Prediction Predict(const StepSetup& setup, const Trace& trace,
                     const DeviceSpec& device) const;

  const Program& program() const { return program_; }
  const DeviceCatalog& catalog() const { return catalog_; }
  const DeviceSpec& device() const { return device_; }

 private:
  std::vector<BoundInput> Inputs(std::int64_t parts) const;

  const ModelOptions& model_;
  std::optional<std::int64_t> batch_;
  DeviceCatalog catalog_;
  PredictorOptions options_;
  DeviceSpec device_;
  Program program_;
};

}  // namespace foretell::cli
