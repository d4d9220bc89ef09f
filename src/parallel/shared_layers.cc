#include "src/parallel/shared_layers.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "foretell/error.h"
#include "src/core/name_table.h"
#include "src/core/numbers.h"
#include "src/graph/collective.h"
#include "src/parallel/split_rules.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {
namespace {

std::vector<std::vector<NodeId>> NodesByValue(const OperatorGraph& graph) {
  std::vector<std::vector<NodeId>> nodes(graph.values().size());
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    const Node& node = graph.node(id);
    if (node.phase == Phase::kOptimizer) continue;
    for (const ValueId value : node.inputs) {
      nodes[IndexOf(value)].push_back(id);
    }
    for (const ValueId value : node.outputs) {
      nodes[IndexOf(value)].push_back(id);
    }
  }
  return nodes;
}

std::string NameOf(const OperatorGraph& graph, const Parameter& weight) {
  std::string name = graph.value(weight.value).name;
  constexpr std::string_view kEnd = ".weight";
  if (name.ends_with(kEnd)) name.resize(name.size() - kEnd.size());
  return name;
}

}  // namespace

std::string_view LayerShareName(LayerShare share) {
  constexpr NameTable<3> kNames = {kWholeShare, kColumnsShare, kRowsShare};
  return NameIn(kNames, share);
}

SharedLayers::SharedLayers(const OperatorGraph& graph, const StepFacts& facts,
                           const ParallelSpec& spec)
    : SplitBoard(graph),
      spec_(spec),
      facts_(facts),
      products_(graph, facts),
      roles_(facts.parameters.size()),
      touching_(NodesByValue(graph)) {
  bool shares_any = false;
  for (const LayerProduct& layer : products_.all()) {
    if (layer.is_gradient || ShareOf(layer.weight) != LayerShare::kWhole) {
      continue;
    }
    if (!TryRows(layer)) {
      TakeBack();
      continue;
    }
    RequireEvenParts(layer);
    shares_any = true;
  }
  if (spec.vocabulary) ShareHeads();
  if (shares_any) return;
  const auto layers =
      std::ranges::count(products_.all(), false, &LayerProduct::is_gradient);
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{}: none of {} can be shared: expected two linear layers "
                  "with attention or operators of single elements between them",
                  ToString(spec), Counted(layers, "layer")));
}

LayerShare SharedLayers::ShareOf(ParameterIndex weight) const {
  return roles_[IndexOf(weight)].share;
}

std::vector<bool> SharedLayers::WholeWeights() const {
  std::vector<bool> is_whole;
  for (const Role& role : roles_) {
    is_whole.push_back(role.share == LayerShare::kWhole);
  }
  return is_whole;
}

bool SharedLayers::TryRows(const LayerProduct& layer) {
  fresh_.clear();
  fresh_roles_.clear();
  const Shape& shape = ShapeOf(layer.factor);
  if (shape.empty()) return false;
  return Assign(layer.weight, {LayerShare::kRows, shape.back()}) && Spread() &&
         HasNewColumns();
}

void SharedLayers::ShareHeads() {
  vocabulary_ = FindVocabulary(graph(), facts_, products_, WholeWeights());
  for (const ParameterIndex head : vocabulary_.heads) {
    fresh_.clear();
    fresh_roles_.clear();
    if (Assign(head, {LayerShare::kColumns, vocabulary_.words}) && Spread()) {
      continue;
    }
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: head '{}' cannot be shared by its {}", ToString(spec_),
                    NameOf(graph(), facts_.parameters[IndexOf(head)]),
                    Counted(vocabulary_.words, "word")));
  }
}

bool SharedLayers::Spread() {
  for (std::size_t next = 0; next < fresh_.size(); ++next) {
    for (const NodeId node : touching_[IndexOf(fresh_[next])]) {
      if (!Visit(node)) return false;
    }
  }
  return true;
}

/// What is exchanged, or copied out of it, is whole on one side.
bool SharedLayers::StaysWhole(const Node& node) const {
  const bool is_copy = node.FindAttribute(kOwnPartAttribute) != nullptr;
  const bool is_gathered = node.target == kAllGather;
  if (node.inputs.empty() || node.outputs.empty()) return true;
  const ValueId in = node.inputs.front();
  const ValueId out = node.outputs.front();
  return (is_gathered || !At(in)) && (is_copy || !At(out));
}

bool SharedLayers::Visit(NodeId node) {
  const Node& one = graph().node(node);
  if (one.kind == OpKind::kCollective ||
      one.FindAttribute(kOwnPartAttribute) != nullptr) {
    return StaysWhole(one);
  }
  const LayerProduct* layer = products_.Of(node);
  return layer == nullptr ? FollowSplits(graph().node(node), *this)
                          : VisitProduct(*layer);
}

bool SharedLayers::VisitProduct(const LayerProduct& layer) {
  const auto assign = [&](ValueId end, LayerShare share) {
    if (!At(end)) return true;
    const auto last = static_cast<std::int32_t>(ShapeOf(end).size()) - 1;
    return At(end)->dim == last &&
           Assign(layer.weight, {share, At(end)->period});
  };
  const ValueId in = layer.is_gradient ? layer.product : layer.factor;
  const ValueId out = layer.is_gradient ? layer.factor : layer.product;
  return assign(in, LayerShare::kRows) && assign(out, LayerShare::kColumns);
}

bool SharedLayers::Assign(ParameterIndex weight, const Role& role) {
  Role& known = roles_[IndexOf(weight)];
  if (known.share != LayerShare::kWhole) {
    return known.share == role.share && known.period == role.period;
  }
  known = role;
  fresh_roles_.push_back(weight);
  const bool by_rows = role.share == LayerShare::kRows;
  for (const LayerProduct& layer : products_.all()) {
    if (layer.weight != weight) continue;
    const ValueId end =
        by_rows == layer.is_gradient ? layer.product : layer.factor;
    const auto last = static_cast<std::int32_t>(ShapeOf(end).size()) - 1;
    if (!Demand(end, {last, role.period})) return false;
    const bool shares_bias = !by_rows && layer.bias != kNone;
    if (shares_bias && !Demand(layer.bias, {0, role.period})) return false;
  }
  return true;
}

bool SharedLayers::Demand(ValueId id, const Split& split) {
  if (products_.WeightIn(id) != kNone) return false;
  const bool is_new = !At(id);
  if (!SplitBoard::Demand(id, split)) return false;
  if (is_new) fresh_.push_back(id);
  return true;
}

bool SharedLayers::HasNewColumns() const {
  return std::ranges::any_of(fresh_roles_, [this](ParameterIndex weight) {
    return ShareOf(weight) == LayerShare::kColumns;
  });
}

void SharedLayers::TakeBack() {
  for (const ValueId id : fresh_) Clear(id);
  for (const ParameterIndex weight : fresh_roles_) roles_[IndexOf(weight)] = {};
}

void SharedLayers::RequireEvenParts(const LayerProduct& layer) const {
  const auto smallest =
      std::ranges::min_element(fresh_, {}, [this](ValueId id) {
        const std::int64_t period = At(id)->period;
        return period % spec_.gpus == 0
                   ? std::numeric_limits<std::int64_t>::max()
                   : period;
      });
  const Split& split = *At(*smallest);
  if (split.period % spec_.gpus == 0) return;
  const Shape& shape = ShapeOf(*smallest);
  const bool are_heads = split.dim + 1 < std::ssize(shape);
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{}: layer '{}' reads {} {}, which {} GPUs cannot share "
                  "evenly",
                  ToString(spec_),
                  NameOf(graph(), facts_.parameters[IndexOf(layer.weight)]),
                  split.period, are_heads ? "heads" : "features", spec_.gpus));
}

}  // namespace foretell::parallel
