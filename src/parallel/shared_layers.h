#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "foretell/parallel.h"
#include "src/parallel/layer_products.h"
#include "src/parallel/tensor_split.h"
#include "src/parallel/vocabulary.h"

namespace foretell::parallel {

/// How GPUs share a linear layer.
enum class LayerShare : std::uint8_t {
  kWhole,    ///< Nothing: every GPU has all of it.
  kColumns,  ///< Features out: each makes a part of the result.
  kRows,     ///< Features in: results of all are added up.
};

/// "whole", "columns", "rows": kShareAttribute of the layer's products.
std::string_view LayerShareName(LayerShare share);

/// Determines the shared layers of a step, and their tensors.
///
/// A layer is shared by rows if all operators between its input and earlier
/// layers can run on a part of the features; those earlier layers are shared by
/// columns. Attention (by heads) and element-wise operators can; a norm over
/// the features cannot. Layers are tried in the order of the forward pass; each
/// is shared once.
class SharedLayers final : public SplitBoard {
 public:
  /// Throws Error(kInvalidArgument) if no layer can be shared, and for heads or
  /// features that `spec.gpus` cannot share evenly, by the layer's name and
  /// both numbers.
  SharedLayers(const OperatorGraph& graph, const StepFacts& facts,
               const ParallelSpec& spec);

  const LayerProducts& products() const { return products_; }
  /// Empty unless `spec` shares it.
  const Vocabulary& vocabulary() const { return vocabulary_; }
  LayerShare ShareOf(ParameterIndex weight) const;
  /// By parameter: true if the layer is replicated.
  std::vector<bool> WholeWeights() const;
  /// Features in one run of those that the layer shares.
  std::int64_t PeriodOf(ParameterIndex weight) const {
    return roles_[static_cast<std::size_t>(weight)].period;
  }
  /// False for weights of layers, whose split follows from their layer's.
  bool Demand(ValueId id, const Split& split) override;

 private:
  struct Role {
    LayerShare share = LayerShare::kWhole;
    std::int64_t period = 0;
  };

  bool TryRows(const LayerProduct& layer);
  /// Heads of a vocabulary by columns; their borders are there.
  void ShareHeads();
  bool Spread();
  bool Visit(NodeId node);
  bool StaysWhole(const Node& node) const;
  bool VisitProduct(const LayerProduct& layer);
  bool Assign(ParameterIndex weight, const Role& role);
  bool HasNewColumns() const;
  void TakeBack();
  void RequireEvenParts(const LayerProduct& layer) const;

  const ParallelSpec& spec_;
  const StepFacts& facts_;
  LayerProducts products_;
  std::vector<Role> roles_;  ///< By parameter.
  Vocabulary vocabulary_;
  std::vector<std::vector<NodeId>> touching_;  ///< By value: nodes.
  std::vector<ValueId> fresh_;                 ///< Split in this try.
  std::vector<ParameterIndex> fresh_roles_;
};

}  // namespace foretell::parallel
