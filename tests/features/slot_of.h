#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "foretell/features.h"
#include "foretell/graph_io.h"
#include "src/features/feature_table.h"

namespace foretell {

/// Features of the last node of the graph `text` by slot name, those that are
/// not zero.
inline std::map<std::string, float> SlotsOf(const std::string& text) {
  const std::vector<NodeFeatureRow> rows = NodeFeatures(ParseGraph(text));
  std::map<std::string, float> named;
  for (std::size_t i = 0; i < kNodeFeatures.size(); ++i) {
    const float value = rows.back()[i];
    if (value != 0) named[std::string(kNodeFeatures[i].name)] = value;
  }
  return named;
}

}  // namespace foretell
