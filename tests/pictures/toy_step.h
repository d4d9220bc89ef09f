#pragma once

#include "foretell/graph_io.h"
#include "foretell/memory.h"
#include "foretell/predictor.h"

namespace foretell::pictures {

/// Bytes of the tensors of ToyGraph: %x, %a, %b and %c, then %w.
inline constexpr std::int64_t kMapBytes = 8 * 64 * 56 * 56 * 4;
inline constexpr std::int64_t kWeightBytes = 64 * 64 * 3 * 3 * 4;

/// A convolution and two activations in two modules.
inline OperatorGraph ToyGraph() {
  return ParseGraph(R"(graph "toy" batch=8
%x = input f32[8,64,56,56]
%w = parameter f32[64,64,3,3] label="blocks.0.conv.weight"
%a = conv2d(%x, %w) {padding=[1,1]} : f32[8,64,56,56] @ "blocks.0.conv"
%b = relu(%a) : f32[8,64,56,56] @ "blocks.0"
%c = gelu(%b) : f32[8,64,56,56] @ "head"
output %c
)");
}

inline const DeviceSpec& ToyDevice() {
  return DeviceCatalog::BuiltIn().FindDevice("a100-sxm4-40gb");
}

inline Prediction PredictToy(const OperatorGraph& graph) {
  return Predictor::Analytic(ToyDevice(), Run{}).Predict(graph);
}

}  // namespace foretell::pictures
