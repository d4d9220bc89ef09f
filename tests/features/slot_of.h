#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "foretell/features.h"
#include "foretell/graph_io.h"

namespace foretell {

/// Features of the last node of the graph `text` by slot name, those that are
/// not zero.
inline std::map<std::string, float> SlotsOf(const std::string& text) {
  const std::vector<NodeFeatureRow> rows = NodeFeatures(ParseGraph(text));
  const std::vector<FeatureSlot> slots = NodeFeatureSlots();
  std::map<std::string, float> named;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (rows.back()[i] != 0) named[std::string(slots[i].name)] = rows.back()[i];
  }
  return named;
}

}  // namespace foretell
