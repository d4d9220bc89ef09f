#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "src/features/terms.h"

namespace foretell::learned {

/// How the nodes of a graph network learn of their neighbours.
enum class LayerKind {
  kPmgns,  ///< GraphSAGE with the mean of the neighbours: the paper's network.
  kGcn,    ///< Graph convolution, symmetric normalisation.
  kGat,    ///< Graph attention.
  kGin,    ///< Graph isomorphism network.
  kMlp,    ///< Not at all: every node for itself.
};

/// A kind of layer by the name that its network has in files and flags.
struct LayerKindRow {
  LayerKind layer;
  std::string_view name;
};
inline constexpr auto kLayerKinds = std::to_array<LayerKindRow>({
    {LayerKind::kPmgns, "pmgns"},
    {LayerKind::kGcn, "gcn"},
    {LayerKind::kGat, "gat"},
    {LayerKind::kGin, "gin"},
    {LayerKind::kMlp, "mlp"},
});

/// How a network is built, and what it sees: a graph network has layers and
/// sees operators, a term network sees the terms of one figure.
struct NetworkKind {
  LayerKind layer = LayerKind::kPmgns;  ///< Of a graph network.
  std::optional<TermSet> terms = {};    ///< Makes it a term network.

  bool operator==(const NetworkKind&) const = default;
};
/// Its one word in files and flags: the layer's name ("pmgns", "gcn", …) or
/// that of the term set ("kernels", …).
std::string_view NetworkKindName(const NetworkKind& kind);
std::optional<NetworkKind> ParseNetworkKind(std::string_view name);

}  // namespace foretell::learned
