#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "datasets/collect/generate.h"
#include "foretell/session.h"

namespace foretell::dataset {

/// Opens the model of a point: a file, or a network of the zoo.
using OpenFunction = std::function<Program(const Point&)>;

/// Settings shared by all points of a run.
struct TraceSetup {
  OpenFunction open;
  /// Input types by model, for files that do not state them, at any batch: the
  /// leading dimension is replaced. An empty name applies to every model.
  std::map<std::string, std::vector<BoundInput>> inputs;
  std::map<std::string, std::int64_t> dims;  ///< `--dim seq=128`.
  TraceDevice device = TraceDevice::kMeta;
};

/// Opens, traces and packs points; keeps the last program, since the batches of
/// a model follow one another.
class PointTracer {
 public:
  explicit PointTracer(TraceSetup setup) : setup_(std::move(setup)) {}

  /// Traces under RunGraph::run, with the inputs that a stored point has, or
  /// under the default where `run` is empty. Throws Error as the model's
  /// frontend and Session::StepWith do.
  TracedPoint Trace(const Point& point, const std::string& run = {});

 private:
  const Program& Open(const Point& point);
  InputRequest RequestFor(const Point& point) const;

  TraceSetup setup_;
  std::string opened_;
  std::optional<Program> program_;
};

/// The run in which `point` is traced under `run`, as in RunGraph::run; empty
/// for the default. Throws Error(kInvalidArgument) for an unknown optimizer.
Run TracedRun(const Point& point, const std::string& run);

/// Types of the inputs as the trace of the point had them. Throws as
/// ParseInput.
std::vector<BoundInput> InputsOf(const Point& point);

/// Reads a table with the columns `model` and `input` ("3x224x224", without the
/// batch), such as those that accompany collections of traced models; rows
/// without an input are skipped. Throws Error that names path, line and value.
std::map<std::string, std::vector<BoundInput>> ReadInputTable(
    const std::string& path);

}  // namespace foretell::dataset
