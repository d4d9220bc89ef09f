// The one table of features: the code, the tests and docs/features.md read it.
//
// A node is described as in the published method by operator, attributes and
// output shape in 32 numbers. The operator is one of 13 classes rather than one
// of 60 kinds, which leaves room for what decides time and memory: arithmetic,
// bytes moved and geometry. Sizes span many orders of magnitude and act by
// ratios, therefore they enter as logarithms, scaled so that common values lie
// in [0, 1].

#include "src/features/feature_table.h"

#include <cmath>

namespace foretell {
namespace {

constexpr double kChannelScale = 12;  // 4,095 channels encode as 1
constexpr double kKernelScale = 4;    // a window of 15 encodes as 1
constexpr double kStrideScale = 4;
constexpr double kMacScale = 40;    // 1.1e12 MACs
constexpr double kBytesScale = 36;  // 64 GiB
constexpr double kWidestElement = 8;

template <OperatorClass op_class>
double Is(const NodeFacts& facts) {
  return facts.op_class == op_class ? 1.0 : 0.0;
}

template <auto member>
double Get(const NodeFacts& facts) {
  return static_cast<double>(facts.*member);
}

template <std::size_t dim>
double OutputDim(const NodeFacts& facts) {
  return facts.output_dims[dim];
}

double PhaseNumber(const NodeFacts& facts) {
  return static_cast<double>(facts.phase);
}

}  // namespace

using enum Encoding;

// clang-format off
constexpr std::array<NodeFeature, kNumNodeFeatures> kNodeFeatures = {{
    {"is_convolution", "convolution of any kind",
     kFlag, 1, &Is<OperatorClass::kConvolution>},
    {"is_matrix_product", "linear layer, matrix product, einsum",
     kFlag, 1, &Is<OperatorClass::kMatrixProduct>},
    {"is_attention", "fused attention",
     kFlag, 1, &Is<OperatorClass::kAttention>},
    {"is_recurrent", "LSTM, GRU, simple recurrent layer",
     kFlag, 1, &Is<OperatorClass::kRecurrent>},
    {"is_normalization", "batch, layer, group, instance, RMS, local response "
     "norm; softmax",
     kFlag, 1, &Is<OperatorClass::kNormalization>},
    {"is_activation", "activation function",
     kFlag, 1, &Is<OperatorClass::kActivation>},
    {"is_resampling", "pooling, upsampling, grid sampling",
     kFlag, 1, &Is<OperatorClass::kResampling>},
    {"is_pointwise", "element by element: arithmetic, comparison, cast, fill, "
     "random numbers, dropout",
     kFlag, 1, &Is<OperatorClass::kPointwise>},
    {"is_reduction", "reduction, sort, cumulative sum, loss",
     kFlag, 1, &Is<OperatorClass::kReduction>},
    {"is_view", "view, which moves no data",
     kFlag, 1, &Is<OperatorClass::kView>},
    {"is_movement", "copy, concatenation, padding, gather, scatter, embedding",
     kFlag, 1, &Is<OperatorClass::kMovement>},
    {"is_optimizer", "fused or multi-tensor optimizer operator",
     kFlag, 1, &Is<OperatorClass::kOptimizer>},
    {"is_other", "anything else: FFT, detection, unknown operators",
     kFlag, 1, &Is<OperatorClass::kOther>},
    {"phase", "0 forward, 1 backward, 2 optimizer step",
     kDivided, 2, &PhaseNumber},
    {"kernel_height", "rows of the window of a convolution or pooling",
     kLog2, kKernelScale, &Get<&NodeFacts::kernel_height>},
    {"kernel_width", "columns of the window",
     kLog2, kKernelScale, &Get<&NodeFacts::kernel_width>},
    {"stride", "stride along the last dimension; negative for a transposed "
     "convolution",
     kSignedLog2, kStrideScale, &Get<&NodeFacts::stride>},
    {"dilation", "dilation along the last dimension",
     kLog2, kKernelScale, &Get<&NodeFacts::dilation>},
    {"groups", "groups of a convolution",
     kLog2, kChannelScale, &Get<&NodeFacts::groups>},
    {"depthwise", "one input channel per group, more than one group",
     kFlag, 1, &Get<&NodeFacts::depthwise>},
    {"channels_in", "input channels of a convolution, width of the left "
     "factor of a product",
     kLog2, kChannelScale, &Get<&NodeFacts::channels_in>},
    {"channels_out", "output channels of a convolution, width of a product",
     kLog2, kChannelScale, &Get<&NodeFacts::channels_out>},
    {"output_dim0", "first dimension of the first result",
     kLog2, kChannelScale, &OutputDim<0>},
    {"output_dim1", "second dimension",
     kLog2, kChannelScale, &OutputDim<1>},
    {"output_dim2", "third dimension",
     kLog2, kChannelScale, &OutputDim<2>},
    {"output_dim3", "product of all further dimensions",
     kLog2, kChannelScale, &OutputDim<3>},
    {"macs", "multiply-accumulates",
     kLog2, kMacScale, &Get<&NodeFacts::macs>},
    {"input_bytes", "bytes of all distinct inputs that are no weights",
     kLog2, kBytesScale, &Get<&NodeFacts::input_bytes>},
    {"output_bytes", "bytes of all results",
     kLog2, kBytesScale, &Get<&NodeFacts::output_bytes>},
    {"weight_bytes", "bytes of all distinct parameters and buffers",
     kLog2, kBytesScale, &Get<&NodeFacts::weight_bytes>},
    {"element_bytes", "bytes per element of the first result",
     kDivided, kWidestElement, &Get<&NodeFacts::element_bytes>},
    {"aliases_input", "the first result shares the storage of an input",
     kFlag, 1, &Get<&NodeFacts::aliases_input>},
}};

constexpr std::array<StaticFeature, kNumStaticFeatures> kStaticFeatures = {{
    {"macs", "multiply-accumulates of the forward pass: convolutions of all "
     "kinds, linear layers, matrix products, both products of attention, "
     "recurrent layers", &StaticFeatures::macs},
    {"batch", "batch size", &StaticFeatures::batch},
    {"convolutions", "convolutions of the forward pass, transposed ones "
     "included", &StaticFeatures::convolutions},
    {"dense", "linear layers of the forward pass, and matrix products of two "
     "matrices or with a weight matrix", &StaticFeatures::dense},
    {"relus", "ReLUs of the forward pass", &StaticFeatures::relus},
}};
// clang-format on

double Encode(const NodeFeature& feature, const NodeFacts& facts) {
  const double x = feature.quantity(facts);
  switch (feature.encoding) {
    case kFlag:
      return x;
    case kDivided:
      return x / feature.divisor;
    case kLog2:
    case kSignedLog2:
      return std::copysign(std::log2(1.0 + std::abs(x)), x) / feature.divisor;
  }
  return x;
}

}  // namespace foretell
