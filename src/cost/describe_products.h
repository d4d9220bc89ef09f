#pragma once

#include "src/cost/expansion.h"

namespace foretell::cost {

/// Type that the products of a node are computed in: that of 16-bit operands;
/// of f32, TF32 for convolutions and fused attention, else what the graph's
/// precision says. f64 counts as FP32.
Precision ProductPrecision(const Expansion& expansion,
                           const NodeContext& context);

/// Each fills in class, product, arithmetic and MACs of a node of its kind;
/// operators whose shapes it does not understand keep MACs alone.
void DescribeConvolution(const Expansion& expansion, const NodeContext& context,
                         Kernel& kernel);
void DescribeLinear(const Expansion& expansion, const NodeContext& context,
                    Kernel& kernel);
void DescribeMatmul(const Expansion& expansion, const NodeContext& context,
                    Kernel& kernel);
void DescribeEinsum(const Expansion& expansion, const NodeContext& context,
                    Kernel& kernel);
void DescribeAttention(const Expansion& expansion, const NodeContext& context,
                       Kernel& kernel);
void DescribeRecurrent(const Expansion& expansion, const NodeContext& context,
                       Kernel& kernel);

}  // namespace foretell::cost
