#include "src/model/predict_graph.h"

#include <ATen/ATen.h>

#include <optional>

#include "foretell/features.h"
#include "src/model/node_costs.h"
#include "src/model/term_batch.h"

namespace foretell::model {
namespace {

std::vector<float> ScaledInputs(const CheckpointInfo& info,
                                const OperatorGraph& graph,
                                const GraphContext& context) {
  const StaticFeatures statics = CountStaticFeatures(graph);
  const Setting setting(context.run);
  const InputSource source{.statics = &statics,
                           .device = context.device,
                           .precision = graph.info().precision,
                           .prior = &context.prior,
                           .prior_figures = context.prior_figures,
                           .setting = &setting};
  std::vector<float> scaled;
  for (const InputColumn& column : info.inputs) {
    scaled.push_back(ScaleInput(column, RawInput(column.name, source)));
  }
  return scaled;
}

GraphBatch BatchOf(const CheckpointInfo& info, const OperatorGraph& graph,
                   const GraphContext& context) {
  const std::vector<float> inputs = ScaledInputs(info, graph, context);
  if (const std::optional<TermKind> kind = TermKindOf(info.network.kind)) {
    const TermTable table = MakeTerms(
        *kind, graph, {*context.device, context.run, *context.context});
    const TermInput one[] = {{&table, inputs}};
    return CollateTerms(one, *kind);
  }
  GraphFeatures features = ExtractFeatures(graph);
  if (context.chain) JoinAsChain(features);
  NodeCosts costs;
  if (info.HasNodeCosts()) {
    costs = NodeCostsOf(
        graph, *context.device,
        {.dispatch_scale = DispatchScale(context.prior_host)});
  }
  const GraphInput one[] = {{&features, inputs, costs.columns, costs.shares}};
  return Collate(one);
}

}  // namespace

std::vector<LearnedFigure> PredictGraph(const LearnedModel& learned,
                                        const OperatorGraph& graph,
                                        const GraphContext& context) {
  const at::NoGradGuard no_gradients;
  const CheckpointInfo& info = learned.info();
  const GraphBatch batch = BatchOf(info, graph, context);
  const TargetValues prior[] = {context.prior};
  const TargetValues values = learned.Predict(batch, prior).front();
  const at::Tensor distance = learned.network().InputDistance(batch);
  const FigureSource source =
      SourceOf(info, distance.defined() ? std::optional(distance.item<double>())
                                        : std::nullopt);
  std::vector<LearnedFigure> figures;
  for (const CheckpointTarget& output : info.targets) {
    const Target target = output.scale.target;
    const double value = ValueOf(values, target);
    figures.push_back({.target = target,
                       .value = value,
                       .interval = learned.IntervalOf(target, value),
                       .source = source});
  }
  return figures;
}

}  // namespace foretell::model
