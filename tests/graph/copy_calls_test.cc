#include "src/graph/copy_calls.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "foretell/graph_io.h"
#include "src/graph/recompute_blocks.h"

namespace foretell {
namespace {

constexpr char kStep[] = R"(graph "step" mode=training
%x = input f32[4,6]
%w = parameter f32[6,6]
%a = linear(%x, %w) : f32[4,6] @ "layers.0.fc"
%b = softsign(%a) : f32[4,6] saved @ "layers.0.act"
| %s = abs(%a) : f32[4,6]
| %t = add(%s) : f32[4,6]
| %b = div(%a, %t)
%d = tanh(%b) : f32[4,6] @ "layers.0.act"
%c = relu(%d) : f32[4,6] @ "head.act"
phase backward
%g = tanh_backward(%c, %b) : f32[4,6] backward_temporary
%h = mm(%g, %x) : f32[4,6] gradient
)";

std::string CallsOf(const Node& node) {
  std::string text;
  for (const Node& call : node.calls) text += call.target + " ";
  return text;
}

TEST(CopyCalls, MapsTensorsInAndOutside) {
  const OperatorGraph graph = ParseGraph(kStep);
  GraphBuilder builder(graph.info());
  std::map<StorageId, StorageId> storages;
  for (StorageId id = 0; id < std::ssize(graph.storages()); ++id) {
    const Storage& storage = graph.storage(id);
    storages[id] = builder.AddStorage(storage.bytes, storage.role);
  }
  std::map<ValueId, ValueId> values;
  const ValueId a = graph.node(1).inputs.front();
  const ValueId b = graph.node(1).outputs.front();
  values[a] = builder.AddSource("other", graph.value(a).type,
                                storages[graph.value(a).storage]);
  const NodeId copy =
      builder.AddNode({.target = "softsign", .inputs = {values[a]}});
  values[b] = builder.AddResult(copy, "result", graph.value(b).type,
                                storages[graph.value(b).storage]);
  CopyCalls(graph, 1,
            {.value = [&](ValueId id) { return values.at(id); },
             .storage = [&](StorageId id) { return storages.at(id); },
             .name = [](const std::string& name) { return name + ".copy"; }},
            copy, builder);
  builder.DeriveLifetimes();
  const OperatorGraph copied = builder.Build();
  const Node& node = copied.node(0);
  EXPECT_EQ(CallsOf(node), "abs add div ");
  EXPECT_EQ(node.calls[0].inputs, node.inputs);
  EXPECT_EQ(node.calls[2].outputs, node.outputs);
  EXPECT_EQ(copied.value(node.calls[0].outputs[0]).name, "s.copy");
}

TEST(CopyCalls, AddsNoneWhereAStorageIsMissing) {
  const OperatorGraph graph = ParseGraph(kStep);
  GraphBuilder builder(graph.info());
  const NodeId copy = builder.AddNode({.target = "softsign", .inputs = {}});
  CopyCalls(graph, 1,
            {.value = [](ValueId id) { return id; },
             .storage = [](StorageId) { return kNone; },
             .name = [](const std::string& name) { return name; }},
            copy, builder);
  builder.DeriveLifetimes();
  EXPECT_EQ(CallsOf(builder.Build().node(0)), "");
}

TEST(CopyCalls, IsDoneWhereABlockIsComputedAgain) {
  const OperatorGraph graph = RecomputeBlocks(ParseGraph(kStep), "layers.*");
  std::string calls;
  for (const Node& node : graph.nodes()) {
    if (node.target == "softsign") calls += CallsOf(node);
  }
  EXPECT_EQ(calls, "abs add div abs add div ");
}

}  // namespace
}  // namespace foretell
