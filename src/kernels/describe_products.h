#pragma once

#include "src/kernels/expansion.h"

namespace foretell::cost {

/// Unit that the products of a node are computed on, as its type: that of
/// 16-bit operands, also for i8 and f8; for f32 TF32 in convolutions and fused
/// attention, else by the graph's precision; for f64 FP32, see
/// Kernel::arithmetic.
Precision ProductPrecision(const Expansion& expansion,
                           const ExpandedNode& expanded);

/// True if the first operand has floats of 8 bits.
bool MultipliesFloat8(const Expansion& expansion, const ExpandedNode& expanded);

/// True if it has floats of 4 bits, two in a byte, as TransformerEngine's
/// products do.
bool MultipliesFloat4(const Expansion& expansion, const ExpandedNode& expanded);

/// Sets what a product in an engine of TensorRT may do that PyTorch's do not:
/// integers of 8 bits, sparse weights, and TF32 for every float32. Nothing for
/// any other runtime.
void DescribeEngineProduct(const Expansion& expansion,
                           const ExpandedNode& expanded, Kernel& kernel);

/// Each fills in class, product, arithmetic and MACs of a node of its kind;
/// operators whose shapes it does not understand keep MACs alone.
void DescribeConvolution(const Expansion& expansion,
                         const ExpandedNode& expanded, Kernel& kernel);
/// One pass of a convolution's backward operator: sets class, product, window
/// and MACs for `pass`, which is not kForward.
void DescribeConvolutionGradient(const Expansion& expansion,
                                 const ExpandedNode& expanded, ProductPass pass,
                                 Kernel& kernel);
void DescribeLinear(const Expansion& expansion, const ExpandedNode& expanded,
                    Kernel& kernel);
void DescribeMatmul(const Expansion& expansion, const ExpandedNode& expanded,
                    Kernel& kernel);
void DescribeAttention(const Expansion& expansion, const ExpandedNode& expanded,
                       Kernel& kernel);
void DescribeAttentionBackward(const Expansion& expansion,
                               const ExpandedNode& expanded, Kernel& kernel);
void DescribeRecurrent(const Expansion& expansion, const ExpandedNode& expanded,
                       Kernel& kernel);

}  // namespace foretell::cost
