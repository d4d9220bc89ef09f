#pragma once

#include "foretell/runtime.h"
#include "src/runtime/onnxruntime/draft.h"

namespace foretell::runtime::ort {

/// Computes what depends on initializers only, when the session is created.
/// Without `all`, only what exporters compute: transposed weights.
void FoldConstants(Draft& draft, bool all);

/// Writes operators of PyTorch that ONNX lacks, or the CUDA provider at
/// `level`, as the operators that they consist of.
void Decompose(Draft& draft, OrtLevel level);

/// Keeps nodes of com.microsoft in a file, apart from attention, as the kernels
/// that they are.
void KeepNodes(Draft& draft);

/// Keeps attention as one kernel, with its projections in one product; at
/// another level than "transformers" only attention that is a node of the file.
void FuseAttention(Draft& draft, OrtLevel level);

/// Lets the CPU run operators without a kernel of the CUDA provider, and copies
/// their tensors to the host and back.
void PlaceNodes(Draft& draft);

/// Lets images have their channels last (prefer_nhwc), with copies where the
/// layout changes.
void UseNhwc(Draft& draft);

/// Removes casts to a wider type and back, and casts the results of a file that
/// the optimizer of `level` converted to float16 back to float32.
void ChangeCasts(Draft& draft, OrtLevel level);

/// Folds padding before, and batch norms, products and sums by channel after
/// them, into convolutions.
void FuseConvolutions(Draft& draft);

/// Lets products read transposed operands and scale their results.
void FuseProducts(Draft& draft);

/// Makes one node of GELU by tanh that the file writes in full.
void FuseGelu(Draft& draft);

/// Fuses the bias of a linear layer into GELU, and masks into a softmax.
void FuseActivations(Draft& draft);

/// Fuses residual sums into layer norms where their sizes are known: all, for
/// the optimizer of `level`, or those that UnknownSizes leaves.
void FuseNorms(Draft& draft, OrtLevel level);

}  // namespace foretell::runtime::ort
