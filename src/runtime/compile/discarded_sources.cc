#include "src/runtime/compile/discarded_sources.h"

#include "src/graph/index_of.h"

namespace foretell::runtime {
namespace {

std::set<std::string> SourcesOf(const OperatorGraph& step) {
  std::set<std::string> names;
  for (const Value& value : step.values()) {
    if (value.producer == kNone &&
        IsSourceRole(step.storage(value.storage).role)) {
      names.insert(value.name);
    }
  }
  return names;
}

}  // namespace

std::set<std::string> DiscardedSources(
    const OperatorGraph& step, const Regions& regions,
    const std::vector<std::optional<Region>>& compiled) {
  std::set<std::string> names = SourcesOf(step);
  for (const std::optional<Region>& region : compiled) {
    if (!region) continue;
    for (const Value& value : region->graph.values()) {
      if (value.producer == kNone) names.erase(value.name);
    }
  }
  for (NodeId id = 0; id < std::ssize(step.nodes()); ++id) {
    const int region = regions.of_node[IndexOf(id)];
    if (region != kNone && compiled[IndexOf(region)]) continue;
    for (const ValueId input : step.node(id).inputs) {
      names.erase(step.value(input).name);
    }
  }
  return names;
}

}  // namespace foretell::runtime
