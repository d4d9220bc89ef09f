#include "src/runtime/tensorrt/engine_strides.h"

#include <utility>

namespace foretell::runtime {

Strides ImageStrides(const Shape& shape) {
  return {shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3], shape[1]};
}

bool MakesImages(const Node& node) {
  switch (node.kind) {
    case OpKind::kConvolution:
    case OpKind::kTransposedConvolution:
    case OpKind::kMaxPool:
    case OpKind::kAveragePool:
    case OpKind::kUpsample:
      return true;
    default:
      return false;
  }
}

Strides TransposedStrides(const Value& value) {
  Strides strides = StridesOf(value);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return strides;
}

}  // namespace foretell::runtime
