#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "foretell/trace.h"
#include "frontends/onnx/reader/model.h"
#include "tests/frontends/onnx_pieces.h"

namespace foretell::onnx {

/// One ONNX node that is run as a model of its own.
struct NodeCase {
  std::string op_type;
  std::int64_t opset = 22;  ///< Of the node's domain.
  std::vector<Attribute> attributes = {};
  std::string domain = "";
  size_t num_outputs = 1;
  std::set<size_t> absent_outputs = {};  ///< Below num_outputs, without name.
  /// Inputs by position that are constants of the file (float32, int64).
  std::map<size_t, at::Tensor> constants = {};
};

/// All num_outputs outputs (absent ones undefined) of the node for `inputs`,
/// which fill the positions that are no constants; an undefined tensor is an
/// absent input. Runs on the CPU.
std::vector<at::Tensor> RunNode(const NodeCase& node,
                                const std::vector<at::Tensor>& inputs);

/// The trace of the node for float32 inputs of `shapes`, which fill the
/// positions that are no constants.
Trace TraceCase(const NodeCase& node,
                const std::vector<std::vector<std::int64_t>>& shapes,
                const TraceOptions& options = {});

/// The ATen operators that a trace on meta records for float32 inputs of
/// `shapes`, in order.
std::vector<std::string> TraceNode(
    const NodeCase& node, const std::vector<std::vector<std::int64_t>>& shapes);

}  // namespace foretell::onnx
