#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/features.h"
#include "foretell/mig.h"
#include "foretell/prediction.h"
#include "src/graph/collective.h"

namespace foretell {

/// An input or a result of a network, for a report.
struct ReportTensor {
  std::string name;
  TensorType type;
  bool on_host = false;  ///< It uses no memory of the device.
  /// Symbols of the dimensions that have the size of the file's example because
  /// no flag sets another, by position.
  std::map<std::size_t, std::string> from_example = {};
};

/// A tensor alive at the memory peak, with its operator's name.
struct ReportLiveTensor {
  LiveTensor tensor;
  std::string producer;  ///< Operator that made it; empty before the first.
};

/// A change that would help the step most, simulated as the step itself is.
struct ReportSuggestion {
  std::string flags;       ///< "--recompute auto"
  double at_most_mib = 0;  ///< Upper end of the memory with it.
  double latency_ms = 0;
};

/// How GPUs share a step, for a report.
struct ReportParallel {
  std::string plan;  ///< ToString of the ParallelSpec.
  std::int64_t gpus = 0;
  std::int64_t batches = 1;  ///< Of all GPUs; fewer where some share one.
  std::int64_t exchanges = 0;
  /// Linear layers by how they are shared; empty: each is whole on every GPU.
  std::optional<SharedLayerCounts> layers = {};
};

/// Operators of an ONNX file's step apart from views.
struct ReportOrt {
  std::int64_t operators = 0;  ///< In ONNX Runtime.
  std::int64_t eager = 0;      ///< In PyTorch.
};

/// One of several passes that a process runs in turn.
struct ReportPass {
  std::string label;  ///< "length 512", "evaluation", a network's name.
  Mode mode = Mode::kInference;
  std::int64_t batch = 1;
  std::int64_t runs = 0;  ///< In one run of the loop.
  PassFigures figures;
  std::int64_t allocated_peak = 0;  ///< While it runs, in bytes.
};

/// Everything in the answer for one file, independent of how it is printed.
struct Report {
  std::string model;   ///< As the user named it.
  std::string format;  ///< "onnx", "torchscript", "graph".
  Mode mode = Mode::kInference;
  Precision precision = Precision::kFp32;
  std::optional<DType> autocast = {};  ///< As GraphInfo.
  bool grad_mode = false;              ///< As GraphInfo.
  std::int64_t batch = 1;
  /// Batches of a training step, as TrainingLoop::accumulation.
  std::int64_t batches_per_step = 1;
  std::string optimizer;  ///< Empty in inference.
  /// What a training step goes backward from: "first output, a scalar"; empty
  /// in inference.
  std::string loss = {};
  /// Elements of the file's weights by element type; empty if it does not state
  /// them. They keep their types except for `precision` fp16 and bf16.
  std::map<DType, std::int64_t> weights = {};
  /// How the step differs from PyTorch's default one, apart from the fields
  /// above, as flags: "--recompute blocks.*".
  std::vector<std::string> setup = {};
  std::int64_t parameters = 0;  ///< Elements.
  std::int64_t operators = 0;
  /// Of an ONNX file that is predicted in PyTorch.
  std::optional<ReportOrt> onnx_runtime = {};
  StaticFeatures static_features;
  std::vector<ReportTensor> inputs;
  std::vector<ReportTensor> outputs;
  Prediction prediction;
  /// Memory of the step without torch.no_grad(), in MiB; see
  /// Predictor::MemoryInGradMode. Empty where it is not known, or runs so.
  std::optional<double> grad_mode_mib = {};
  std::optional<ReportParallel> parallel = {};  ///< Empty: one GPU.
  std::vector<ReportPass> passes = {};          ///< Empty: one step.
  /// Latency of a step of average length; empty unless lengths differ.
  std::optional<double> mean_latency_ms = {};
  std::optional<ReportSuggestion> suggestion = {};  ///< Where one was tried.
  /// Empty: before the first operator. With several passes also which of them:
  /// "conv1 (conv2d) of length 512".
  std::string peak_operator;
  Phase peak_phase = Phase::kForward;  ///< Of that operator.
  std::vector<ReportLiveTensor> largest_at_peak;
  mig::Recommendation recommendation;
  /// Warnings of the frontend, the trace and the predictor, in this order.
  std::vector<std::string> warnings;
};

/// A file that could not be answered.
struct ReportError {
  std::string model;
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

/// What a report is about, in addition to its graph. Fields are as in Report.
struct ReportedModel {
  std::string name;
  std::string format;
  std::vector<std::string> warnings = {};  ///< Of the frontend and the trace.
  /// Empty: those of the graph, under its names for them.
  std::vector<ReportTensor> inputs = {};
  std::vector<ReportTensor> outputs = {};
  std::string loss = {};
  std::map<DType, std::int64_t> weights = {};
  std::optional<ReportOrt> onnx_runtime = {};
  std::int64_t batches_per_step = 1;
  std::vector<ReportPass> passes = {};
  bool has_lengths = false;    ///< They are steps of different lengths.
  std::string peak_pass = {};  ///< Label of the one with the memory peak.
};

/// Puts a report together. The model's warnings go before those of the
/// prediction. `at_peak`: the graph of the pass with the memory peak; null:
/// `graph`.
Report MakeReport(ReportedModel model, const OperatorGraph& graph,
                  Prediction prediction, mig::Recommendation recommendation,
                  const OperatorGraph* at_peak = nullptr);

}  // namespace foretell
