#pragma once

#include <string>

#include "datasets/collect/fill.h"
#include "foretell/measure.h"

namespace foretell::dataset {

/// What the measurements of a run have in common.
struct MeasureSetup {
  std::string device = "cuda:0";   ///< MeasureRequest::device.
  Run run = {.host = Host::kCpp};  ///< Without the step: points state it.
  MeasureOptions options;          ///< Energy follows LabelTask::with_energy.
};

/// Source of the labels: "foretell measure", with the flags of a run that is
/// not the usual one. Labels of a point that was run in another way are labels
/// of another source: one cannot replace the other.
std::string MeasureSource(const Run& run);

/// Name of `device` in labels if the user calls it `name` (LabelDeviceName).
/// Throws Error(kInvalidArgument) for a GPU without a name: "cuda:0" means
/// nothing to later readers of the labels.
std::string MeasuredDeviceName(const std::string& device,
                               const std::string& name);

/// The point of `task` with the inputs of its trace, measured according to
/// `setup`. Under autocast parameters stay in fp32.
MeasureRequest RequestFor(const LabelTask& task, const MeasureSetup& setup);

/// A measurement as a label. Its details are what a label has no column for:
/// the whole row except its environment and what the point already states.
/// Without kOk it has a reason and no values.
Label LabelOf(const Measurement& measurement);

}  // namespace foretell::dataset
