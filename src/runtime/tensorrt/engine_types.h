#pragma once

#include <cstdint>
#include <vector>

#include "foretell/graph.h"
#include "foretell/runtime.h"
#include "src/runtime/tensorrt/plan_layers.h"

namespace foretell::runtime {

/// The types of an engine's tensors. Without INT8 they are those of the graph:
/// --precision chose them. With INT8, TensorRT runs every layer in it for which
/// that is fastest; between such layers activations are of 8 bits as well. So
/// weights of products are i8 and so are activations, except for what the graph
/// reads and returns.
class EngineTypes {
 public:
  /// Keeps `graph`, which must outlive it.
  EngineTypes(const OperatorGraph& graph, const EnginePlan& plan,
              const RuntimeSpec& spec);

  TensorType TypeOf(ValueId id) const;
  std::int64_t BytesOf(StorageId id) const;

 private:
  const OperatorGraph& graph_;
  std::vector<bool> is_int8_;    ///< By storage.
  std::vector<DType> dtype_of_;  ///< By storage: of its first tensor.
};

}  // namespace foretell::runtime
