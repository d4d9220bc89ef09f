#pragma once

#include <optional>
#include <vector>

#include "foretell/program.h"
#include "frontends/exported/archive.h"
#include "frontends/exported/graph.h"

namespace foretell::exported {

/// Elements of the parameters, shared ones counted once.
std::int64_t ParameterElements(const Model& model);

/// Elements of the weights by type, see Program::weight_elements.
std::map<DType, std::int64_t> WeightElements(const Model& model);

/// The tensors of a model on a device.
struct ModelTensors {
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> buffers;
  /// One per input of the model's graph; empty for those of the user.
  std::vector<std::optional<at::Tensor>> by_input;
};

/// Makes them, with random weights. Constants that are single numbers stay on
/// the CPU with their values, because sizes may be computed from them.
ModelTensors MakeTensors(const Model& model, const Archive& archive,
                         const InstanceOptions& options);

}  // namespace foretell::exported
