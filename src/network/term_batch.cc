#include "src/network/term_batch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/core/failure.h"

namespace foretell::learned {
namespace {

[[noreturn]] void Refuse(std::size_t graph, const std::string& what,
                         std::size_t found, std::size_t expected) {
  throw InvalidArgument("terms {} of the batch: {} is {}, expected {}", graph,
                        what, found, expected);
}

EdgeList EdgesOfTerms(const TermTable& table) {
  return {table.num_terms(), table.sources, table.targets};
}

void CheckTable(std::span<const TermInput> graphs, std::size_t index,
                const TermLayout& layout) {
  const TermTable& table = *graphs[index].table;
  const std::size_t terms = table.num_terms();
  const auto expect = [index](const char* what, std::size_t found,
                              std::size_t expected) {
    if (found != expected) Refuse(index, what, found, expected);
  };
  if (terms == 0) Refuse(index, "the number of terms", 0, 1);
  expect("the number of classes", table.classes.size(), terms);
  expect("the number of features", table.features.size(),
         terms * static_cast<std::size_t>(layout.num_features));
  expect("the number of totals", table.totals.size(),
         static_cast<std::size_t>(layout.num_totals));
  expect("the number of static features", graphs[index].statics.size(),
         graphs[0].statics.size());
  CheckEdges(EdgesOfTerms(table), "terms", index);
  const auto [least, most] = std::ranges::minmax(table.classes);
  if (least >= 0 && most < layout.num_classes) return;
  Refuse(index, "a class", static_cast<std::size_t>(least < 0 ? least : most),
         static_cast<std::size_t>(layout.num_classes - 1));
}

void JoinTerms(std::span<const TermInput> graphs, GraphBatch& batch) {
  std::vector<EdgeList> edges;
  for (const TermInput& graph : graphs)
    edges.push_back(EdgesOfTerms(*graph.table));
  batch.incoming = IncomingLists(edges);
  batch.outgoing = OutgoingLists(edges);
}

}  // namespace

GraphBatch CollateTerms(std::span<const TermInput> graphs, TermSet set) {
  if (graphs.empty()) {
    throw InvalidArgument("a batch of no terms");
  }
  const TermLayout layout = LayoutOf(set);
  std::int64_t terms = 0;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    CheckTable(graphs, g, layout);
    terms += static_cast<std::int64_t>(graphs[g].table->num_terms());
  }
  const auto num_graphs = static_cast<std::int64_t>(graphs.size());
  const auto num_statics = static_cast<std::int64_t>(graphs[0].statics.size());
  GraphBatch batch;
  batch.nodes =
      at::zeros({terms, layout.num_classes + layout.num_features}, at::kFloat);
  batch.shares = at::empty({terms}, at::kFloat);
  batch.graph_begin = at::empty({num_graphs + 1}, at::kInt);
  batch.statics =
      at::empty({num_graphs, num_statics + layout.num_totals}, at::kFloat);
  auto* row = batch.nodes.mutable_data_ptr<float>();
  auto* share = batch.shares.mutable_data_ptr<float>();
  auto* begin = batch.graph_begin.mutable_data_ptr<std::int32_t>();
  auto* statics = batch.statics.mutable_data_ptr<float>();
  *begin = 0;
  for (const TermInput& graph : graphs) {
    const TermTable& table = *graph.table;
    const float* features = table.features.data();
    for (const std::int32_t term_class : table.classes) {
      row[term_class] = 1;
      row =
          std::copy_n(features, layout.num_features, row + layout.num_classes);
      features += layout.num_features;
    }
    share = std::ranges::copy(table.amounts, share).out;
    begin[1] = begin[0] + static_cast<std::int32_t>(table.num_terms());
    ++begin;
    statics = std::ranges::copy(graph.statics, statics).out;
    statics = std::ranges::copy(table.totals, statics).out;
  }
  JoinTerms(graphs, batch);
  return batch;
}

}  // namespace foretell::learned
