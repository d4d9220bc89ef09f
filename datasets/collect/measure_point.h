#pragma once

#include <string>

#include "datasets/collect/fill.h"
#include "foretell/measure.h"

namespace foretell::dataset {

/// Settings shared by all measurements of a run.
struct MeasureSetup {
  std::string device = "cuda:0";   ///< MeasureRequest::device.
  Run run = {.host = Host::kCpp};  ///< Without the step, which points state.
  MeasureOptions options;          ///< Energy follows LabelTask::with_energy.
};

/// Source of the labels: "foretell measure", with the flags of a run that is
/// not the usual one. Labels of a point under different run settings have
/// different sources, so that one does not replace the other.
std::string MeasureSource(const Run& run);

/// Name of `device` in labels if the user calls it `name` (LabelDeviceName).
/// Throws Error(kInvalidArgument) for a GPU without a name, since "cuda:0" does
/// not identify it in stored labels.
std::string MeasuredDeviceName(const std::string& device,
                               const std::string& name);

/// The point of `task` with the inputs of its trace, measured according to
/// `setup`. Under autocast parameters stay in fp32.
MeasureRequest RequestFor(const LabelTask& task, const MeasureSetup& setup);

/// A measurement as a label. Its details hold everything without a column: the
/// whole row except its environment and what the point already states. Without
/// kOk it has a reason and no values.
Label LabelOf(const Measurement& measurement);

}  // namespace foretell::dataset
