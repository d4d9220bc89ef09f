#pragma once

#include <cstdint>
#include <optional>

#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "foretell/advise.h"

namespace foretell::cli {

/// Predicts the step of one model repeatedly, with changes to it.
class StepSimulator {
 public:
  /// As ModelOptions::Open. Throws also what DeviceFlags::Find and
  /// PredictorFlags::ToOptions throw.
  StepSimulator(const ModelOptions& model, const PredictorFlags& predictor,
                std::optional<std::int64_t> batch);
  /// Its options point to its catalogue.
  StepSimulator(const StepSimulator&) = delete;
  StepSimulator& operator=(const StepSimulator&) = delete;

  /// The step that the flags describe.
  StepSetup Setup() const;
  /// Throws what TraceProgram and Predictor::Predict throw, and
  /// Error(kInvalidArgument) for a batch that cannot be divided into the parts
  /// of `setup`, for offloading or several GPUs in a runtime that does not
  /// model them, and for several GPUs if the process runs other passes.
  Trace TraceStep(const StepSetup& setup) const;
  /// The prediction of the changed step, and of the other passes of its
  /// process, on the flags' device. Throws as TraceStep, and what
  /// Predictor::Make throws.
  Prediction Predict(const StepSetup& setup) const;
  /// The prediction of a traced step on `device`. Throws as Predictor::Predict
  /// and Predictor::Make.
  Prediction Predict(const StepSetup& setup, const Trace& trace,
                     const DeviceSpec& device) const;

  const Program& program() const { return session_.program(); }
  const DeviceCatalog& catalog() const { return catalog_; }
  const DeviceSpec& device() const { return device_; }

 private:
  /// Throws as TraceStep.
  StepChange ChangeTo(const StepSetup& setup) const;
  PredictorOptions OptionsOf(const StepSetup& setup) const;
  /// Size of each of `parts` equal parts of the batch; empty without a batch.
  std::optional<std::int64_t> BatchOfPart(std::int64_t parts) const;

  DeviceCatalog catalog_;
  PredictorOptions options_;
  DeviceSpec device_;
  Session session_;
};

}  // namespace foretell::cli
