#pragma once

#include <vector>

#include "foretell/dataset.h"
#include "foretell/device.h"
#include "foretell/run.h"
#include "training/samples/prior.h"
#include "training/samples/samples.h"

namespace foretell::training {

/// An unfinished sample, with temporary data. Its pointers refer to its
/// Selection and to the catalogue.
struct Draft {
  Sample sample;
  const Label* label = nullptr;
  const GraphSummary* graph = nullptr;
  Precision precision = Precision::kFp32;
  const DeviceSpec* device = nullptr;  ///< If anything needs devices.
  Run run = {};                        ///< By the label's setting.
  PriorFigures prior;                  ///< Unknown values without a prior.
};

/// State passed between the steps of SelectSamples, in this order: JoinLabels,
/// FindDevices, AddPriors, AddParts, AddInputs.
struct Selection {
  /// Reads the tables; no drafts yet. Both arguments must outlive it.
  Selection(const Dataset& from, const SampleOptions& chosen)
      : dataset(from),
        options(chosen),
        labels(from.Labels()),
        points(from.Points()),
        graphs(from.Graphs()) {
    set.recipe = chosen.recipe;
    set.recipe.prior.clear();
  }
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;

  const Dataset& dataset;
  const SampleOptions& options;
  const std::vector<Label> labels;
  const std::vector<StoredPoint> points;
  const std::vector<GraphSummary> graphs;
  std::vector<Draft> drafts;  ///< In the order of their labels.
  /// Recipe, devices and counters; its samples are those of the drafts.
  SampleSet set;
};

}  // namespace foretell::training
