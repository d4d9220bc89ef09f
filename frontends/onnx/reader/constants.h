#pragma once

#include <set>
#include <string>
#include <string_view>

#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// True for a tensor of floating-point numbers that foretell can hold.
bool IsFloatLiteral(const TensorLiteral& literal);

/// True if an initializer of `graph` is a matrix of floats.
bool HasMatrix(const Graph& graph);

/// True for floats called `name` that may be a weight of `graph`: more than one
/// number, and no result.
bool MayBeWeight(const TensorLiteral& literal, const std::string& name,
                 const Graph& graph);

/// The tensor that a Constant node of `graph` holds, if it may be a weight;
/// else null.
const TensorLiteral* WeightOf(const Node& node, const Graph& graph);

/// True for a name that torch.onnx's dynamo exporter (onnxscript) gives to its
/// own values: val_12.
bool IsNamedByExporter(std::string_view name);

/// Names of the initializers of `graph` that are constants of the network's
/// code, not parameters: training does not change them. They are
/// - attention masks, and tensors of ones of which only triangles are used;
/// - tensors that a scatter writes into;
/// - results that torch.onnx's dynamo exporter folds: single numbers (val_12),
/// results
///   of operators that make tensors out of nothing (cos_1, zeros_like), the
///   unit scale and zero bias with which it writes GroupNorm as
///   InstanceNormalization, zeros as a recurrent layer's initial state, and
///   masks, whose content may be in another file.
///
/// A table that was computed from parameters (permute_2) counts as a parameter:
/// the file does not contain its inputs.
std::set<std::string> ConstantInitializers(const Graph& graph);

/// Makes initializers of the tensors of floats that `graph` has in Constant
/// nodes, if no initializer is a matrix of floats: paddle2onnx and spox write
/// all weights so. Single numbers and results stay; LiftBranchWeights sees to
/// the nodes of branches.
void LiftWeights(Graph& graph);

}  // namespace foretell::onnx
