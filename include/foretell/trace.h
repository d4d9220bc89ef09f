#pragma once

#include <optional>
#include <string>
#include <vector>

#include "foretell/graph.h"
#include "foretell/program.h"
#include "foretell/run.h"
#include "foretell/training_loop.h"

namespace foretell {

/// Device of a trace.
enum class TraceDevice {
  kMeta,  ///< No arithmetic; milliseconds; operators must not depend on data.
  kCpu,   ///< Executes for real, on random data, with random weights.
};

struct TraceOptions {
  /// What is traced. Grad mode is refused in training; the version of PyTorch
  /// decides on TraceDevice::kMeta what attention stores.
  Run run = {};
  TrainingLoop loop = {};
  TraceDevice device = TraceDevice::kMeta;
  std::uint64_t seed = 0;  ///< Of all that TraceDevice::kCpu draws.
  /// False if the run's precision is a default and not the user's choice: there
  /// is then no warning that it leaves the file's types alone.
  bool chose_precision = true;
};

/// A step of a program: TraceProgram traces it with the result of BindInputs
/// for `inputs`.
struct StepRequest {
  InputRequest inputs = {};
  TraceOptions options = {};
};

/// A result of a program.
struct TraceOutput {
  std::string name;  ///< Name in the file; "output0" if it has none.
  TensorType type;
  /// A number, or a result of shapes and constants: it is on no device and is
  /// not a value of the graph.
  bool on_host = false;
};

/// Result of tracing a program on given inputs.
struct Trace {
  OperatorGraph graph;
  std::vector<BoundInput> inputs;
  std::vector<TraceOutput> outputs;  ///< All, in the program's order.
  std::vector<std::string> warnings;
  /// Value that a training step differentiates: "first output, a scalar"; empty
  /// in inference.
  std::string loss = {};
};

/// Runs `program` on `inputs` and records every top-level ATen operator and the
/// lifetime of every storage.
///
/// Inference is one forward pass without autograd. In grad mode parameters
/// require gradients: tensors for a backward pass live until the results are
/// freed, after the last operator. Training is two steps of forward, a scalar
/// loss (ProgramInstance::Loss if the program has one, its first output if that
/// is a scalar, else the sum of the means of all outputs that require
/// gradients), backward and optimizer; operators are those of the second step,
/// in which gradients are allocated again and optimizer state exists, while the
/// memory events cover both.
///
/// Under autocast parameters count as leaves that require gradients, in
/// inference too, where none of them does: their casts are kept until the
/// forward pass and the loss are over. Gradients are not scaled.
///
/// Operators without a meta kernel run on the CPU for their shapes while they
/// are small, with a warning.
///
/// Throws Error that names the operator: kUnsupported when it depends on data,
/// or lacks a meta kernel and is large or needs a gradient, or when the program
/// does not end; kInvalidArgument when shapes do not fit or are absurd, for
/// grad mode in training, and for a loop without batches, with an invalid
/// expression, or with one that no parameter or block matches.
Trace TraceProgram(const Program& program,
                   const std::vector<BoundInput>& inputs,
                   const TraceOptions& options = {});

/// Prepares this process for tracing: registers meta kernels, the recorder and
/// its allocator, and sets LibTorch to one thread. Called by TraceProgram; call
/// it early to keep its cost out of a measured interval.
void InitializeTracing();

}  // namespace foretell
