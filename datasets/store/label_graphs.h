#pragma once

#include <map>
#include <string>
#include <utility>

#include "foretell/dataset.h"
#include "foretell/run.h"

namespace foretell::dataset {

/// How the network of `point` runs under the setting of a label or of
/// RunGraph::run, with the point's mode and precision. Under autocast
/// parameters stay in 32 bits, for any precision of the point.
Run RunOfPoint(const Point& point, const std::string& setting);

/// Finds the graph of each label of a dataset.
class LabelGraphs {
 public:
  explicit LabelGraphs(const Dataset& dataset);

  /// The graph of `stored` under `run`; 0 if it was not traced that way.
  RowId Of(const StoredPoint& stored, const Run& run) const;

 private:
  std::map<std::pair<RowId, std::string>, RowId> graphs_;
};

}  // namespace foretell::dataset
