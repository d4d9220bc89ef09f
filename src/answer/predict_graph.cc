#include "src/answer/predict_graph.h"

#include <ATen/ATen.h>

#include <cmath>
#include <optional>
#include <span>

#include "src/answer/prior_figures.h"

namespace foretell::learned {
namespace {

PriorFigures PriorOf(const InputRecipe& recipe, const OperatorGraph& graph,
                     const InputSubject& subject) {
  if (recipe.prior.empty()) return {};
  return AnalyticPriorFigures(graph, *subject.device, subject.context,
                              RunAsLearned(subject.run, recipe));
}

std::vector<double> ColumnsOf(const InputRecipe& recipe,
                              const OperatorGraph& graph,
                              const InputSubject& subject,
                              const PriorFigures& prior) {
  const StaticFeatures statics = CountStaticFeatures(graph);
  const Setting setting(subject.run);
  return MakeColumns({.statics = &statics,
                      .device = subject.device,
                      .precision = graph.info().precision,
                      .prior = &prior.values,
                      .prior_figures = &prior.figures,
                      .setting = &setting},
                     recipe);
}

/// Root mean square of what the network sees of the graph as a whole: columns
/// are scaled to a deviation of 1 over the graphs learned from.
std::optional<double> StaticDistance(std::span<const float> columns,
                                     const InputRecipe& recipe) {
  double squares = 0;
  double count = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (recipe.columns[i].key.source != ColumnSource::kStatic) continue;
    squares += static_cast<double>(columns[i]) * columns[i];
    ++count;
  }
  if (count == 0) return std::nullopt;
  return std::sqrt(squares / count);
}

/// How far the graph is from those learned from, as the network sees it.
std::optional<double> DistanceOf(const LearnedModel& learned,
                                 const GraphBatch& batch,
                                 std::span<const float> columns) {
  const at::Tensor distance = learned.network().InputDistance(batch);
  if (distance.defined()) return distance.item<double>();
  return StaticDistance(columns, learned.info().recipe);
}

}  // namespace

std::vector<LearnedFigure> PredictGraph(const LearnedModel& learned,
                                        const OperatorGraph& graph,
                                        const InputSubject& subject) {
  const at::NoGradGuard no_gradients;
  const CheckpointInfo& info = learned.info();
  const InputRecipe& recipe = info.recipe;
  const PriorFigures prior = PriorOf(recipe, graph, subject);
  const std::vector<float> columns =
      ScaleColumns(ColumnsOf(recipe, graph, subject, prior), recipe);
  TracedGraph traced(graph);
  const NetworkInput input = MakeInput(traced, subject, recipe);
  const InputRow rows[] = {{&input, columns}};
  const GraphBatch batch = CollateInputs(rows, recipe);
  const TargetValues priors[] = {prior.values};
  const TargetValues values = learned.Predict(batch, priors).front();
  const FigureSource source =
      SourceOf(info, DistanceOf(learned, batch, columns));
  const double outside = info.far_distance ? kOutsidePerFar * *info.far_distance
                                           : kOutsideDeviations;
  std::vector<LearnedFigure> figures;
  for (const CheckpointTarget& output : info.targets) {
    const Target target = output.scale.target;
    const double value = ValueOf(values, target);
    figures.push_back({.target = target,
                       .value = value,
                       .interval = learned.IntervalOf(target, value),
                       .source = source,
                       .outside_distance = outside});
  }
  return figures;
}

}  // namespace foretell::learned
