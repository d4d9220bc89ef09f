#include "src/classify/encode.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "src/core/name_table.h"

namespace foretell::classify {
namespace {

constexpr NameTable<2> kInputSetNames = {"published", "physics"};
constexpr double kEdgeScale = 8;
constexpr double kEdgeCut = 4;
constexpr double kSizeScale = 20;

double LogOf(double size) { return std::log2(1 + std::max(0.0, size)); }

double LogSize(std::int64_t size) { return LogOf(static_cast<double>(size)); }

/// Place of the activation function on half a circle, as GPUMemNet's code.
double AngleOf(const StepInputs& inputs) {
  return static_cast<double>(inputs.activation) * std::numbers::pi /
         kNumActivationFunctions;
}

struct NumberRow {
  std::string_view name;
  double (*of)(const StepInputs& inputs);
};

constexpr NumberRow kPublished[] = {
    {"batch", [](const StepInputs& step) { return LogSize(step.batch); }},
    {"parameters",
     [](const StepInputs& step) { return LogSize(step.parameters); }},
    {"activations",
     [](const StepInputs& step) { return LogSize(step.activations); }},
    {"activations_of_batch",
     [](const StepInputs& step) {
       return LogOf(static_cast<double>(step.activations) *
                    static_cast<double>(step.batch));
     }},
    {"activation_cos",
     [](const StepInputs& step) { return std::cos(AngleOf(step)); }},
    {"activation_sin",
     [](const StepInputs& step) { return std::sin(AngleOf(step)); }},
};

constexpr NumberRow kSimulated[] = {
    {"total", [](const StepInputs& s) { return LogOf(s.simulated.total_mib); }},
    {"allocated",
     [](const StepInputs& s) { return LogOf(s.simulated.allocated_mib); }},
    {"workspace",
     [](const StepInputs& s) { return LogOf(s.simulated.workspace_mib); }},
    {"tensors",
     [](const StepInputs& s) { return LogOf(s.simulated.tensors_mib); }},
    {"fits",
     [](const StepInputs& s) { return s.simulated.held_mib ? 1.0 : 0.0; }},
};

double BesideEdge(const StepInputs& inputs, double edge) {
  const double total = std::max(1.0, inputs.simulated.total_mib);
  return std::clamp(kEdgeScale * std::log2(total / edge), -kEdgeCut, kEdgeCut);
}

/// The run of layers from `begin` to `end` as one element.
std::array<float, kLayerWidth> EncodeRun(const StepInputs& inputs,
                                         std::size_t begin, std::size_t end) {
  std::array<float, kLayerWidth> element = {};
  const auto share = 1.0F / static_cast<float>(end - begin);
  double activations = 0;
  double parameters = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Layer& layer = inputs.layers[i];
    element[static_cast<std::size_t>(layer.kind)] += share;
    activations += static_cast<double>(layer.activations);
    parameters += static_cast<double>(layer.parameters);
  }
  const double of_batch = activations * static_cast<double>(inputs.batch);
  element[kNumLayerKinds] = static_cast<float>(LogOf(of_batch) / kSizeScale);
  element[kNumLayerKinds + 1] =
      static_cast<float>(LogOf(parameters) / kSizeScale);
  return element;
}

/// At least one element, so that no sequence is empty.
at::Tensor EncodeLayers(const StepInputs& inputs) {
  const auto length = static_cast<std::int64_t>(inputs.layers.size());
  const std::int64_t elements =
      std::clamp<std::int64_t>(length, 1, kMostElements);
  at::Tensor encoded = at::zeros({elements, kLayerWidth});
  if (length == 0) return encoded;
  auto* row = encoded.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < elements; ++i, row += kLayerWidth) {
    const auto element =
        EncodeRun(inputs, static_cast<std::size_t>(i * length / elements),
                  static_cast<std::size_t>((i + 1) * length / elements));
    std::ranges::copy(element, row);
  }
  return encoded;
}

}  // namespace

std::string_view InputSetName(InputSet set) {
  return NameIn(kInputSetNames, set);
}

std::optional<InputSet> ParseInputSet(std::string_view name) {
  return FindIn<InputSet>(kInputSetNames, name);
}

std::vector<std::string> NumberNames(InputSet set,
                                     const MemoryClasses& classes) {
  std::vector<std::string> names;
  for (const NumberRow& row : kPublished) names.emplace_back(row.name);
  for (int kind = 0; kind < kNumLayerKinds; ++kind) {
    names.push_back(
        fmt::format("{}_layers", LayerKindName(static_cast<LayerKind>(kind))));
  }
  if (set == InputSet::kPublished) return names;
  for (const NumberRow& row : kSimulated) names.emplace_back(row.name);
  for (const double edge : classes.edges_mib()) {
    names.push_back(fmt::format("total_beside_{}", edge));
  }
  return names;
}

std::vector<float> EncodeNumbers(const StepInputs& inputs, InputSet set,
                                 const MemoryClasses& classes) {
  std::vector<float> numbers;
  const auto add = [&numbers](double number) {
    numbers.push_back(static_cast<float>(number));
  };
  for (const NumberRow& row : kPublished) add(row.of(inputs));
  for (int kind = 0; kind < kNumLayerKinds; ++kind) {
    add(LogSize(inputs.Count(static_cast<LayerKind>(kind))));
  }
  if (set == InputSet::kPublished) return numbers;
  for (const NumberRow& row : kSimulated) add(row.of(inputs));
  for (const double edge : classes.edges_mib()) {
    add(BesideEdge(inputs, edge));
  }
  return numbers;
}

std::vector<float> EncodePrior(const StepInputs& inputs, InputSet set,
                               const MemoryClasses& classes) {
  std::vector<float> logits(static_cast<std::size_t>(classes.size()));
  if (set == InputSet::kPublished) return logits;
  for (std::size_t i = 1; i < logits.size(); ++i) {
    logits[i] = logits[i - 1] + static_cast<float>(BesideEdge(
                                    inputs, classes.edges_mib()[i - 1]));
  }
  return logits;
}

StepTable::StepTable(std::span<const StepInputs* const> steps, InputSet set,
                     const MemoryClasses& classes, bool with_layers) {
  const auto width =
      static_cast<std::int64_t>(NumberNames(set, classes).size());
  const auto count = static_cast<std::int64_t>(steps.size());
  numbers_ = at::zeros({count, width});
  prior_ = at::zeros({count, classes.size()});
  auto* row = numbers_.mutable_data_ptr<float>();
  auto* logits = prior_.mutable_data_ptr<float>();
  for (const StepInputs* step : steps) {
    std::ranges::copy(EncodeNumbers(*step, set, classes), row);
    std::ranges::copy(EncodePrior(*step, set, classes), logits);
    row += width;
    logits += classes.size();
    if (with_layers) layers_.push_back(EncodeLayers(*step));
  }
}

StepBatch StepTable::Take(Rows rows) const {
  const auto count = static_cast<std::int64_t>(rows.size());
  const at::Tensor taken =
      at::tensor(at::ArrayRef<std::int64_t>(rows.data(), rows.size()));
  StepBatch batch{.numbers = numbers_.index_select(0, taken),
                  .prior = prior_.index_select(0, taken)};
  if (layers_.empty()) return batch;
  const auto of = [this](std::int64_t row) -> const at::Tensor& {
    return layers_[static_cast<std::size_t>(row)];
  };
  std::int64_t longest = 1;
  for (const std::int64_t row : rows) {
    longest = std::max(longest, of(row).size(0));
  }
  batch.layers = at::zeros({count, longest, kLayerWidth});
  batch.is_layer = at::zeros({count, longest}, at::kBool);
  for (std::int64_t i = 0; i < count; ++i) {
    const at::Tensor& one = of(rows[static_cast<std::size_t>(i)]);
    batch.layers.select(0, i).narrow(0, 0, one.size(0)).copy_(one);
    batch.is_layer.select(0, i).narrow(0, 0, one.size(0)).fill_(true);
  }
  return batch;
}

}  // namespace foretell::classify
