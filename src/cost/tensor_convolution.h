#pragma once

#include <cstdint>

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Elements of the largest window that cuDNN's kernels on tensor cores treat as
/// any other; larger ones are looked up, or have no such kernel.
inline constexpr std::int64_t kMostMaskedTaps = 32;

/// Channels of a tile in which cuDNN 9.10 takes gradients of volumes' inputs.
inline constexpr std::int64_t kNarrowVolumeChannels = 64;

/// Whether cuDNN is 9.10 or later, on Hopper and B200.
bool HasCudnn910(const Kernel& kernel, const Machine& machine);

/// Whether cuDNN is 9.19 or later and has kernels of Hopper's own; of groups,
/// 9.10.
bool HasNewCudnn(const Kernel& kernel, const Machine& machine);

/// Whether cuDNN 9.10 multiplies a gradient of the input of volumes without a
/// stride on FP32 lanes, also where TF32 is allowed: up to 9.19, of fewer
/// channels than a tile has (three transposed volumes of KernelBench under
/// PyTorch 2.9).
bool IsNarrowVolumeGradient(const Kernel& kernel, const Machine& machine);

/// Whether a convolution in TF32 runs on FP32 lanes all the same: of volumes of
/// few channels on Hopper (KernelBench, kinds.jsonl.gz), and such gradients.
bool RunsOnLanes(const Kernel& kernel, const Machine& machine);

/// Whether a kernel goes over the window element by element, in steps of 32
/// channels: a gradient of the input of volumes without a stride, before cuDNN
/// 9.19 (transposed volumes of three channels on KernelBench's A100s).
bool HasChannelSteps(const Kernel& kernel, const Machine& machine);

/// Whether a convolution runs as a product for each image, as it lies.
bool IsBatchedProduct(const Kernel& kernel, const Machine& machine);

/// Bytes of its images that a convolution never reads: windows of one element
/// leave out what a stride passes of channels-last images, by cuDNN 9.19 on an
/// H100 (kinds.jsonl.gz, drawn.jsonl.gz); 0 of others.
double PassedBytes(const Kernel& kernel, const Machine& machine);

/// Share of its peak that a machine reaches with Ampere's instructions: 1, but
/// 0.63 for convolutions and fused attention on Hopper and B200.
double InstructionShare(const Kernel& kernel, const Machine& machine);

/// Share of the tiled estimate of its implicit product (gemm.h) at which a
/// convolution runs on tensor cores.
double TensorConvolutionShare(const Kernel& kernel, const Machine& machine);

/// Microseconds of cuDNN's copies of images into the channels-last layout and
/// back for a convolution on tensor cores; 0 for all others.
double ConversionUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
