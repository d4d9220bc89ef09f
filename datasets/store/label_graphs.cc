#include "datasets/store/label_graphs.h"

#include "src/graph/setting.h"

namespace foretell::dataset {

Run RunOfPoint(const Point& point, const std::string& setting) {
  Run run = Setting(setting).ToRun();
  run.mode = point.mode;
  run.precision = point.precision;
  run.precision = UncastPrecision(run);
  return run;
}

LabelGraphs::LabelGraphs(const Dataset& dataset) {
  for (const RunGraph& graph : dataset.RunGraphs()) {
    graphs_[{graph.point, graph.run}] = graph.graph;
  }
}

RowId LabelGraphs::Of(const StoredPoint& stored, const Run& run) const {
  const std::string traced = TracedSetting(run);
  if (traced.empty()) return stored.graph;
  const auto found = graphs_.find({stored.id, traced});
  return found == graphs_.end() ? 0 : found->second;
}

}  // namespace foretell::dataset
