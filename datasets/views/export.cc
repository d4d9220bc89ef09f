#include "datasets/views/export.h"

#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <vector>

#include "datasets/views/npz.h"
#include "src/core/csv.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"

namespace foretell::dataset {
namespace {

/// Most node features that are gathered before a file is written.
constexpr std::size_t kMaxValuesPerFile = std::size_t{1} << 26;

/// One line of a table.
class Line {
 public:
  Line& Add(std::string_view text) {
    if (!first_) line_ += ',';
    first_ = false;
    line_ += CsvCell(text);
    return *this;
  }
  Line& Add(std::int64_t value) { return Add(fmt::format("{}", value)); }
  Line& Add(std::optional<std::int64_t> value) {
    return value ? Add(*value) : Add("");
  }
  Line& Add(std::optional<double> value) {
    return value ? Add(FormatExact(*value)) : Add("");
  }
  std::string Take() { return std::move(line_) + "\n"; }

 private:
  std::string line_;
  bool first_ = true;
};

using Splits = std::map<std::string, std::map<RowId, std::string>>;
using Summaries = std::map<RowId, GraphSummary>;

std::string PointsHeader(const Splits& splits) {
  Line line;
  for (const char* column :
       {"point", "model", "family", "format", "batch", "mode", "precision",
        "optimizer", "image_size", "num_nodes", "num_edges", "parameters",
        "macs", "convolutions", "dense", "relus"}) {
    line.Add(column);
  }
  for (const auto& [name, parts] : splits) line.Add("split:" + name);
  return line.Take();
}

std::string PointLine(const StoredPoint& stored, const GraphSummary& graph,
                      const Splits& splits) {
  const Point& point = stored.point;
  Line line;
  line.Add(stored.id).Add(point.model).Add(point.family).Add(point.format);
  line.Add(point.batch).Add(ModeName(point.mode));
  line.Add(PrecisionName(point.precision)).Add(point.optimizer);
  line.Add(point.image_size).Add(graph.num_nodes).Add(graph.num_edges);
  line.Add(graph.parameters).Add(graph.statics.macs);
  line.Add(graph.statics.convolutions).Add(graph.statics.dense);
  line.Add(graph.statics.relus);
  for (const auto& [name, parts] : splits) {
    const auto part = parts.find(stored.id);
    line.Add(part == parts.end() ? "" : part->second);
  }
  return line.Take();
}

std::string LabelsHeader() {
  Line line;
  for (const char* column :
       {"point", "device", "source", "provenance", "status"}) {
    line.Add(column);
  }
  for (const LabelQuantity& quantity : LabelQuantities()) {
    line.Add(quantity.name);
  }
  return line.Add("measured_at").Add("environment").Add("details").Take();
}

std::string LabelLine(const Label& label) {
  Line line;
  line.Add(label.point).Add(label.device).Add(label.source);
  line.Add(ProvenanceName(label.provenance));
  line.Add(LabelStatusName(label.status));
  for (const LabelQuantity& quantity : LabelQuantities()) {
    line.Add(label.*quantity.value);
  }
  return line.Add(label.measured_at)
      .Add(label.setting)
      .Add(label.details)
      .Take();
}

/// Graphs one after the other, until they are written to a file.
class GraphArrays {
 public:
  void Add(RowId point, const GraphFeatures& features) {
    points_.push_back(point);
    for (const NodeFeatureRow& row : features.nodes) {
      nodes_.insert(nodes_.end(), row.begin(), row.end());
    }
    sources_.insert(sources_.end(), features.sources.begin(),
                    features.sources.end());
    targets_.insert(targets_.end(), features.targets.begin(),
                    features.targets.end());
    node_offsets_.push_back(std::ssize(nodes_) / kNumNodeFeatures);
    edge_offsets_.push_back(std::ssize(sources_));
    const auto statics = features.statics.ToArray();
    statics_.insert(statics_.end(), statics.begin(), statics.end());
  }

  std::int64_t size() const { return std::ssize(points_); }
  bool IsLarge() const { return nodes_.size() >= kMaxValuesPerFile; }

  void Write(const std::string& path) const {
    const std::int64_t num_nodes = node_offsets_.back();
    const std::int64_t num_edges = edge_offsets_.back();
    std::vector<std::int64_t> edges = sources_;
    edges.insert(edges.end(), targets_.begin(), targets_.end());
    const auto ints = [](const std::vector<std::int64_t>& values) {
      return NpyArray::Of(values, {std::ssize(values)});
    };
    WriteNpz(path, {{"point", ints(points_)},
                    {"node_offsets", ints(node_offsets_)},
                    {"edge_offsets", ints(edge_offsets_)},
                    {"x", NpyArray::Of(nodes_, {num_nodes, kNumNodeFeatures})},
                    {"edge_index", NpyArray::Of(edges, {2, num_edges})},
                    {"static_features",
                     NpyArray::Of(statics_, {size(), kNumStaticFeatures})}});
  }

 private:
  std::vector<std::int64_t> points_;
  std::vector<float> nodes_;
  std::vector<std::int64_t> sources_;
  std::vector<std::int64_t> targets_;
  std::vector<std::int64_t> node_offsets_ = {0};
  std::vector<std::int64_t> edge_offsets_ = {0};
  std::vector<double> statics_;
};

std::string GraphFileName(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  digits.insert(0, 5 - std::min<std::size_t>(5, digits.size()), '0');
  return fmt::format("graphs-{}.npz", digits);
}

class Exporter {
 public:
  Exporter(const Dataset& dataset, const std::string& folder,
           const ExportOptions& options)
      : dataset_(dataset), folder_(folder), options_(options) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      throw IoFailure("{}: cannot be made: {}", folder, error.message());
    }
  }

  std::int64_t Run() {
    for (StoredPoint& point : dataset_.Points()) {
      if (point.graph != 0) points_.push_back(std::move(point));
    }
    WritePoints();
    WriteLabels();
    WriteGraphs();
    return std::ssize(points_);
  }

 private:
  std::string PathOf(const std::string& name) const {
    return (std::filesystem::path(folder_) / name).string();
  }

  void WritePoints() const {
    Splits splits;
    for (const std::string& name : dataset_.SplitNames()) {
      splits[name] = dataset_.Split(name);
    }
    Summaries summaries;
    for (const GraphSummary& graph : dataset_.Graphs()) {
      summaries[graph.id] = graph;
    }
    OutputFile file(PathOf("points.csv"));
    file.Write(PointsHeader(splits));
    for (const StoredPoint& point : points_) {
      file.Write(PointLine(point, summaries[point.graph], splits));
    }
    file.Close();
  }

  void WriteLabels() const {
    OutputFile file(PathOf("labels.csv"));
    file.Write(LabelsHeader());
    for (const Label& label : dataset_.Labels()) file.Write(LabelLine(label));
    file.Close();
  }

  void WriteGraphs() const {
    GraphArrays arrays;
    std::int64_t number = 0;
    Progress progress{.total = std::ssize(points_)};
    for (const StoredPoint& point : points_) {
      arrays.Add(point.id, dataset_.Features(point.graph));
      ++progress.done;
      progress.current = point.point.model;
      const bool is_last = progress.done == progress.total;
      if (is_last || arrays.size() == options_.graphs_per_file ||
          arrays.IsLarge()) {
        arrays.Write(PathOf(GraphFileName(number++)));
        arrays = {};
      }
      if (options_.progress) options_.progress(progress);
    }
  }

  const Dataset& dataset_;
  const std::string& folder_;
  const ExportOptions& options_;
  std::vector<StoredPoint> points_;
};

}  // namespace

std::int64_t ExportDataset(const Dataset& dataset, const std::string& folder,
                           const ExportOptions& options) {
  return Exporter(dataset, folder, options).Run();
}

}  // namespace foretell::dataset
