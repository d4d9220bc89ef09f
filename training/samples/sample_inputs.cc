#include "training/samples/sample_inputs.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "src/graph/setting.h"
#include "src/network/make_input.h"

namespace foretell::training {
namespace {

using learned::ColumnKey;
using learned::ColumnSource;

bool AsksForDevice(const learned::InputRecipe& recipe) {
  return std::ranges::any_of(
      recipe.columns, [](const learned::InputColumn& column) {
        return column.key.source == ColumnSource::kDevice;
      });
}

void DecideFoldedNorms(Selection& selection) {
  // A checkpoint's recipe, which has columns, has decided already.
  if (!selection.set.recipe.columns.empty()) return;
  if (std::ranges::all_of(selection.drafts, [](const Draft& draft) {
        return draft.label->provenance == Provenance::kSimulated;
      })) {
    selection.set.recipe.restore_folded_norms = false;
  }
}

std::vector<ColumnKey> PriorFigureColumns(const SampleOptions& options) {
  std::vector<ColumnKey> keys;
  if (options.prior == nullptr) return keys;
  for (const std::string& name : options.prior->figures) {
    keys.push_back({ColumnSource::kPriorFigure, name});
  }
  return keys;
}

/// A column per value of each key.
std::vector<ColumnKey> SettingColumns(const Selection& selection) {
  std::vector<ColumnKey> keys;
  for (const std::string& key : selection.options.setting_keys) {
    std::set<std::string> values;
    for (const Draft& draft : selection.drafts) {
      values.insert(Setting(draft.label->setting).ValueOf(key));
    }
    for (const std::string& value : values) {
      keys.push_back({ColumnSource::kSetting, key, value});
    }
  }
  return keys;
}

void AddColumns(Selection& selection) {
  const SampleOptions& options = selection.options;
  const auto append = [&selection](const std::vector<ColumnKey>& keys) {
    for (const ColumnKey& key : keys) {
      selection.set.recipe.columns.push_back({.key = key});
    }
  };
  append(learned::StaticColumns());
  if (options.device_columns) append(learned::DeviceColumns());
  if (options.prior_columns) {
    append(learned::PriorColumns(options.targets));
    append(PriorFigureColumns(options));
  }
  append(SettingColumns(selection));
}

}  // namespace

void FindDevices(Selection& selection) {
  DecideFoldedNorms(selection);
  const SampleOptions& options = selection.options;
  const bool needed = options.prior != nullptr || options.device_columns ||
                      options.recipe.node_costs || options.recipe.terms ||
                      AsksForDevice(options.recipe);
  if (!needed) return;
  SampleSet& set = selection.set;
  for (const std::string& name : set.devices) {
    set.specs.push_back(&options.catalog->FindDevice(name));
  }
  for (Draft& draft : selection.drafts) {
    draft.device = set.specs[draft.sample.device];
  }
}

void AddInputs(Selection& selection) {
  if (selection.set.recipe.columns.empty()) AddColumns(selection);
  const learned::InputRecipe& recipe = selection.set.recipe;
  for (Draft& draft : selection.drafts) {
    const Setting setting(draft.label->setting);
    draft.sample.inputs = MakeColumns(
        {.statics = &draft.graph->statics,
         .device = draft.device,
         .precision = draft.precision,
         .prior = recipe.prior.empty() ? nullptr : &draft.sample.prior,
         .prior_figures = &draft.prior.figures,
         .setting = &setting},
        recipe);
  }
}

}  // namespace foretell::training
