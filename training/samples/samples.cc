#include "training/samples/samples.h"

#include <algorithm>
#include <utility>

#include "src/core/name_table.h"
#include "training/samples/join_labels.h"
#include "training/samples/sample_inputs.h"
#include "training/samples/sample_parts.h"
#include "training/samples/sample_priors.h"
#include "training/samples/selection.h"

namespace foretell::training {
namespace {

constexpr NameTable<3> kPartNames = {"train", "validation", "test"};

}  // namespace

std::string_view PartName(Part part) { return NameIn(kPartNames, part); }

std::optional<Part> ParsePart(std::string_view name) {
  return FindIn<Part>(kPartNames, name);
}

InputKey SampleSet::InputOf(const Sample& sample) const {
  const bool on_device = recipe.terms || recipe.node_costs;
  return {.graph = sample.graph,
          .device = on_device ? specs.at(sample.device) : nullptr,
          .run = sample.run};
}

std::vector<std::size_t> SampleSet::PartOf(Part part) const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].part == part) indices.push_back(i);
  }
  return indices;
}

std::vector<std::size_t> SampleSet::ForJudging(
    std::vector<std::size_t> indices) const {
  const auto simulated = [this](std::size_t index) {
    return samples[index].provenance == Provenance::kSimulated;
  };
  if (!std::ranges::all_of(indices, simulated)) {
    std::erase_if(indices, simulated);
  }
  return indices;
}

std::map<Provenance, std::int64_t> SampleSet::CountProvenance(
    std::span<const std::size_t> indices) const {
  std::map<Provenance, std::int64_t> counts;
  for (const std::size_t index : indices) {
    ++counts[samples.at(index).provenance];
  }
  return counts;
}

SampleSet SelectSamples(const Dataset& dataset, const SampleOptions& options) {
  Selection selection(dataset, options);
  JoinLabels(selection);
  FindDevices(selection);
  AddPriors(selection);
  AddParts(selection);
  AddInputs(selection);
  for (Draft& draft : selection.drafts) {
    selection.set.samples.push_back(std::move(draft.sample));
  }
  return std::move(selection.set);
}

}  // namespace foretell::training
