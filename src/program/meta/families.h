#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "src/program/meta/call.h"

namespace foretell::meta {

/// A family of operators, in the file `name` + ".cc".
struct Family {
  std::string_view name;
  std::span<const KernelRow> rows;
};

/// Schemas of operators in the namespace of another library.
struct LibrarySchemas {
  const char* library;  ///< "torchvision"
  std::span<const char* const> schemas;
};

/// What AllFamilies has kernels for and LibTorch does not define.
std::vector<LibrarySchemas> AllLibrarySchemas();

// The lists of families that have some.
std::vector<LibrarySchemas> DetectionSchemas();
std::vector<LibrarySchemas> FlexSchemas();
std::vector<LibrarySchemas> LigerSchemas();
std::vector<LibrarySchemas> MxSchemas();
std::vector<LibrarySchemas> QuantizedSchemas();
std::vector<LibrarySchemas> TransformerEngineSchemas();

/// All families, in alphabetical order.
std::vector<Family> AllFamilies();

// The table of each family.
std::span<const KernelRow> ActivationKernels();
std::span<const KernelRow> AttentionKernels();
std::span<const KernelRow> ConvolutionKernels();
std::span<const KernelRow> DataDependentKernels();
std::span<const KernelRow> DetectionKernels();
std::span<const KernelRow> DropoutKernels();
std::span<const KernelRow> EmbeddingKernels();
std::span<const KernelRow> FftKernels();
std::span<const KernelRow> FlexKernels();
std::span<const KernelRow> IndexingKernels();
std::span<const KernelRow> LigerKernels();
std::span<const KernelRow> LinalgKernels();
std::span<const KernelRow> LossKernels();
std::span<const KernelRow> MultiHeadKernels();
std::span<const KernelRow> MxKernels();
std::span<const KernelRow> NormalizationKernels();
std::span<const KernelRow> OptimizerKernels();
std::span<const KernelRow> PaddingKernels();
std::span<const KernelRow> PointwiseKernels();
std::span<const KernelRow> PoolingKernels();
std::span<const KernelRow> QuantizationKernels();
std::span<const KernelRow> QuantizedKernels();
std::span<const KernelRow> RandomKernels();
std::span<const KernelRow> RecurrentKernels();
std::span<const KernelRow> ReductionKernels();
std::span<const KernelRow> ResamplingKernels();
std::span<const KernelRow> SoftmaxKernels();
std::span<const KernelRow> TransformerEngineKernels();

}  // namespace foretell::meta
