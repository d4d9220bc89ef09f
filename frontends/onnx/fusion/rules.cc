#include "frontends/onnx/fusion/rules.h"

namespace foretell::onnx {
namespace {

constexpr FusionRow kFusionRows[] = {
    {"Add", &FuseLayerNorm},
    {"Add", &FuseGroupNorm},
    {"Add", &FuseLinear},
    {"Add", &FuseAddcmul},
    {"BatchNormalization", &FuseBatchStatistics},
    {"Concat", &FuseRoll},
    {"Div", &FuseLayerNorm},
    {"Div", &FuseClippedHardSwish},
    {"Div", &FuseWrittenOutRmsNorm, Fusion::kEquivalent},
    {"GRU", &FuseRecurrentWeights},
    {"LSTM", &FuseRecurrentWeights},
    {"MatMul", &FuseExportedAttention},
    {"MatMul", &FuseWrittenOutAttention, Fusion::kEquivalent},
    {"MatMul", &FuseLinear},
    {"Mul", &FuseLayerNorm},
    {"Mul", &FuseRmsNorm},
    {"Mul", &FuseGelu},
    {"Mul", &FuseSilu},
    {"Mul", &FuseMish},
    {"Mul", &FuseHardSwish},
    {"Mul", &FuseClippedHardSwish},
    {"Mul", &FuseRegroupedGelu, Fusion::kEquivalent},
    {"Mul", &FuseWrittenOutRmsNorm, Fusion::kEquivalent},
    {"RNN", &FuseRecurrentWeights},
    {"Reshape", &FuseGroupNorm},
    {"Slice", &FuseSlicedUnbind},
    {"Split", &FuseUnbind},
    {"Where", &FuseSoftplus},
};

}  // namespace

std::span<const FusionRow> FusionRows() { return kFusionRows; }

}  // namespace foretell::onnx
