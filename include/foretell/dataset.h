#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/features.h"
#include "foretell/graph.h"

namespace foretell {

/// Number of a row in its table; from 1, in order of insertion.
using RowId = std::int64_t;

/// A point to predict or measure: a network at a batch size, in a mode.
///
/// Model, batch, mode, precision and optimizer identify it; a dataset holds
/// each combination once.
struct Point {
  /// Canonical name in the zoo, or the file's name without folder and ending,
  /// with sizes of named dimensions behind it: "bert?seq=128".
  std::string model;
  std::string family;  ///< "resnet"; of a file: leading letters of its name.
  std::string format;  ///< "zoo", "onnx", "torchscript"; empty: not opened yet.
  std::string
      path;  ///< Path of the file when it was traced; empty for the zoo.
  std::int64_t batch = 1;
  Mode mode = Mode::kInference;
  Precision precision = Precision::kFp32;
  std::string optimizer;  ///< "sgd", …; empty in inference.
  /// Types of all inputs: "image=f32[8,3,224,224]; mask=bool[8,77]".
  std::string inputs;
  /// Last dimension of the first input of rank 4 or 5, if there is one.
  std::optional<std::int64_t> image_size;

  bool operator==(const Point&) const = default;
};

/// "resnet18 batch=8 inference fp32", for messages.
std::string ToString(const Point& point);

/// Whether a point's graph is in the dataset.
enum class PointStatus {
  kTraced,  ///< It is.
  kFailed,  ///< Tracing failed; StoredPoint::reason has why.
  /// Not in this file, which has labels only; written by one of several
  /// workers.
  kUntraced,
};
std::string_view PointStatusName(PointStatus status);

/// A point as a dataset holds it.
struct StoredPoint {
  RowId id = 0;
  Point point;
  PointStatus status = PointStatus::kTraced;
  RowId graph = 0;            ///< For Dataset::Features; 0 unless kTraced.
  std::int64_t attempts = 0;  ///< How often it was traced so far.
  std::string reason;    ///< Why the last attempt failed; empty when traced.
  std::string warnings;  ///< Warnings of the trace, one per line.
};

/// The graph of a point under non-default run settings that change the trace:
/// autocast, grad mode, channels-last, a PyTorch with other attention.
struct RunGraph {
  RowId id = 0;
  RowId point = 0;
  std::string run;            ///< The run's settings as a JSON object.
  RowId graph = 0;            ///< For Dataset::Graph; 0 where tracing failed.
  std::int64_t attempts = 0;  ///< How often it was traced so far.
  std::string reason;    ///< Why the last attempt failed; empty when traced.
  std::string warnings;  ///< Warnings of the trace, one per line.

  bool operator==(const RunGraph&) const = default;
};

/// Summary of a stored graph, available without reading it.
struct GraphSummary {
  RowId id = 0;
  std::int64_t num_nodes = 0;
  std::int64_t num_edges = 0;
  std::int64_t parameters = 0;  ///< OperatorGraph::ParameterElements.
  StaticFeatures statics;
};

/// Origin of a label; keeps simulated labels apart from measured ones.
enum class Provenance {
  kMeasured,   ///< By `foretell measure` on the device.
  kSimulated,  ///< By the analytic model.
  kImported,   ///< Measured elsewhere; the source names the origin.
};
std::string_view ProvenanceName(Provenance provenance);
/// Empty for an unknown name.
std::optional<Provenance> ParseProvenance(std::string_view name);

enum class LabelStatus {
  kOk,
  kOutOfMemory,  ///< A result: it does not fit. Not tried again.
  kFailed,  ///< Crash, hang, refusal; tried again a bounded number of times.
};
std::string_view LabelStatusName(LabelStatus status);

/// Cost of a point on a device. Values that were not measured are empty.
struct Label {
  RowId point = 0;
  std::string device;  ///< DeviceSpec::name if the catalogue has it.
  /// Conditions of the measurement, as a JSON object: driver, CUDA, cuDNN,
  /// LibTorch versions, flags, ….
  std::string setting = "{}";
  std::string source;  ///< "foretell measure", "foretell analytic", a paper.
  Provenance provenance = Provenance::kMeasured;
  LabelStatus status = LabelStatus::kOk;
  std::optional<double> memory_mib;     ///< Whole process: context included.
  std::optional<double> allocated_mib;  ///< Peak of live blocks.
  std::optional<double> reserved_mib;   ///< Peak of the allocator's segments.
  std::optional<double> latency_ms;     ///< One batch or training step.
  std::optional<double> energy_j;       ///< One batch or training step.
  /// JSON object: percentiles, clocks, temperature, idle draw, …; or empty.
  std::string details;
  std::string measured_at;  ///< UTC, "2026-01-31T12:00:00Z"; empty: unknown.
  std::int64_t attempts = 1;
  std::string reason;  ///< Why it failed; empty when kOk.

  bool operator==(const Label&) const = default;
};

/// The five numbers of a label by name, in the order of the columns.
struct LabelQuantity {
  std::string_view name;  ///< "memory_mib", ….
  std::optional<double> Label::*value;
};
std::vector<LabelQuantity> LabelQuantities();

/// A damaged row, and the reason.
struct Damage {
  std::string table;  ///< Or "file", for the structure of the whole file.
  RowId row = 0;      ///< 0 when it is not known.
  std::string what;
};

/// "labels row 17: the checksum does not match".
std::string ToString(const Damage& damage);

class Dataset;
namespace dataset {
class Store;
/// Internal access to the file (datasets/store/store.h).
Store& StoreOf(const Dataset& dataset);
}  // namespace dataset

/// A dataset: points with their graphs, and labels. One SQLite file, described
/// in docs/dataset.md.
///
/// Every write is atomic, durable when the call (or the enclosing Batch)
/// returns, and safe against other processes that write to the same file. The
/// structure of the file is checked when it is opened (about 0.3 ms per MiB)
/// and every row against its checksum when it is read: damage throws
/// Error(kCorrupt) with path, table and row. Not safe for use by two threads at
/// once, nor in the child after a fork.
class Dataset {
 public:
  /// Opens a file for reading. Throws Error: kNotFound, kCorrupt when it is
  /// not a dataset, kUnsupported when a newer foretell made it.
  static Dataset Open(const std::string& path);
  /// Opens a file for reading whose structure may be damaged: rows that cannot
  /// be reached are silently missing. For diagnosis and recovery.
  static Dataset OpenDamaged(const std::string& path);
  /// Opens a file for writing too.
  static Dataset OpenForWriting(const std::string& path);
  /// Opens a file for writing; creates it if missing or empty.
  static Dataset OpenOrCreate(const std::string& path);

  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;
  ~Dataset();

  const std::string& path() const;

  /// @name Reading
  /// @{

  /// "created_by", "created_at", "feature_version", ….
  std::map<std::string, std::string> Metadata() const;
  std::int64_t NumPoints() const;
  /// All points in the order of their rows.
  std::vector<StoredPoint> Points() const;
  /// The row of `point`, found by its identifying fields.
  std::optional<StoredPoint> Find(const Point& point) const;
  /// Graphs of points under other runs than the default, in the order of their
  /// rows.
  std::vector<RunGraph> RunGraphs() const;
  /// Summaries of all graphs, in the order of their rows.
  std::vector<GraphSummary> Graphs() const;
  /// Input of a learned predictor for a graph. Throws Error(kUnsupported) when
  /// the features were made by another kFeatureVersion.
  GraphFeatures Features(RowId graph) const;
  /// The graph itself, for the simulators.
  OperatorGraph Graph(RowId graph) const;
  /// All labels in the order of their rows.
  std::vector<Label> Labels() const;
  /// Labels of one point.
  std::vector<Label> LabelsOf(RowId point) const;
  /// Names of the splits.
  std::vector<std::string> SplitNames() const;
  /// Part of every point of a split: "train", "validation", "test". Throws
  /// Error(kNotFound) that lists the existing splits.
  std::map<RowId, std::string> Split(std::string_view name) const;
  /// @}

  /// @name Writing
  /// @{

  /// Groups writes into one transaction, which is rolled back unless
  /// committed. Holds the file's write lock: keep it short.
  class Batch {
   public:
    explicit Batch(Dataset& dataset);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    void Commit();

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

  /// Stores a point with its graph, replacing a row without one. Returns false,
  /// and changes nothing, when the point has a graph already.
  bool AddTraced(const Point& point, const OperatorGraph& graph,
                 const std::string& warnings = {});
  /// Records that tracing failed once more. A point with a graph keeps it.
  void AddFailure(const Point& point, const std::string& reason);
  /// Stores the graph of a stored point under `run`. Returns false, and changes
  /// nothing, when it is there already.
  bool AddRunGraph(RowId point, const std::string& run,
                   const OperatorGraph& graph,
                   const std::string& warnings = {});
  /// Records that tracing a point under `run` failed once more, unless its
  /// graph is there.
  void AddRunFailure(RowId point, const std::string& run,
                     const std::string& reason);
  /// Stores a point without a graph, if it is missing. Returns its row.
  RowId AddUntraced(const Point& point);
  /// Stores a label, replacing the one of the same point, device, setting
  /// and source. Environment and details are brought into canonical form;
  /// throws Error(kInvalidArgument) when one is not a JSON object, when the
  /// point does not exist, and for a value that is negative or not finite.
  void PutLabel(const Label& label);
  /// Removes the failed labels of a point on a device from a source.
  void RemoveFailures(RowId point, std::string_view device,
                      std::string_view source);
  /// Stores a split under `name`, replacing the one of that name.
  void PutSplit(const std::string& name, const std::string& kind,
                std::uint64_t seed, const std::map<RowId, std::string>& parts);
  /// @}

 private:
  friend dataset::Store& dataset::StoreOf(const Dataset& dataset);
  explicit Dataset(std::unique_ptr<dataset::Store> store);
  std::unique_ptr<dataset::Store> store_;
};

/// Checks the whole file: SQLite's structure, the schema, every row's checksum,
/// references between rows, every graph. Empty when all is well. Throws Error
/// only when the file is missing or cannot be read at all.
std::vector<Damage> CheckDataset(const std::string& path);

}  // namespace foretell
