#include "datasets/store/packed_graph.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "expect_error.h"
#include "foretell/graph_io.h"
#include "toy.h"

namespace foretell::dataset {
namespace {

using dataset_test::ExpectError;
using dataset_test::ToyGraph;

TEST(PackGraph, CountsWhatIsInTheGraph) {
  const PackedGraph packed = PackGraph(ToyGraph(2));
  EXPECT_EQ(packed.summary.num_nodes, 2);
  EXPECT_EQ(packed.summary.num_edges, 1);
  EXPECT_EQ(packed.summary.parameters, 4 * 3 * 3 * 3);
  // 2 images × 4 channels × 64 pixels × 27 products.
  EXPECT_EQ(packed.summary.statics.macs, 2 * 4 * 64 * 27);
  EXPECT_EQ(packed.summary.statics.batch, 2);
  EXPECT_EQ(packed.summary.statics.convolutions, 1);
  EXPECT_EQ(packed.summary.statics.relus, 1);
}

TEST(PackGraph, KeepsTheTimeline) {
  const PackedGraph packed = PackGraph(ToyGraph());
  const std::string text = Unpack(packed.text.data, packed.text.raw_bytes);
  EXPECT_EQ(text, PrintGraph(ToyGraph(), {.with_timeline = true}));
}

TEST(EncodeNodes, IsRowMajorFloat32) {
  std::vector<NodeFeatureRow> rows(2);
  rows[0][1] = 0.5F;
  rows[1][0] = 0.25F;
  const std::string bytes = EncodeNodes(rows);
  ASSERT_EQ(bytes.size(), 2U * 32 * 4);
  float value = 0;
  std::memcpy(&value, bytes.data() + 1 * 4, 4);
  EXPECT_EQ(value, 0.5F);
  std::memcpy(&value, bytes.data() + 32 * 4, 4);
  EXPECT_EQ(value, 0.25F);
}

TEST(EncodeEdges, HasAllSourcesBeforeAllTargets) {
  const GraphFeatures features{
      .nodes = {}, .sources = {1, 2}, .targets = {3, 4}, .statics = {}};
  const std::string expected("\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0", 16);
  EXPECT_EQ(EncodeEdges(features), expected);
}

TEST(DecodeFeatures, InvertsTheEncoding) {
  const GraphFeatures features = ExtractFeatures(ToyGraph());
  const GraphFeatures decoded =
      DecodeFeatures(PackGraph(ToyGraph()).summary, EncodeNodes(features.nodes),
                     EncodeEdges(features));
  EXPECT_EQ(decoded.nodes, features.nodes);
  EXPECT_EQ(decoded.sources, features.sources);
  EXPECT_EQ(decoded.targets, features.targets);
  EXPECT_EQ(decoded.statics, features.statics);
}

TEST(DecodeFeatures, RefusesWrongSizesAndNodes) {
  const GraphSummary summary = PackGraph(ToyGraph()).summary;
  const std::string nodes(2 * 32 * 4, '\0');
  ExpectError(ErrorCode::kCorrupt, "nodes has 4 bytes, expected 2 times 128",
              [&] { DecodeFeatures(summary, "abcd", "12345678"); });
  ExpectError(ErrorCode::kCorrupt, "edges has 4 bytes, expected 1 times 8",
              [&] { DecodeFeatures(summary, nodes, "1234"); });
  const std::string edge("\0\0\0\0\2\0\0\0", 8);
  ExpectError(ErrorCode::kCorrupt, "node 2 of 2",
              [&] { DecodeFeatures(summary, nodes, edge); });
}

/// Whose bytes are the right ones modulo 2^64.
TEST(DecodeFeatures, RefusesCountsBeyondInt64) {
  const std::string nodes(2 * 32 * 4, '\0');
  const std::string edge("\0\0\0\0\1\0\0\0", 8);
  GraphSummary summary = PackGraph(ToyGraph()).summary;
  summary.num_nodes += std::int64_t{1} << 57;
  ExpectError(ErrorCode::kCorrupt, "nodes has 256 bytes, expected 144115188",
              [&] { DecodeFeatures(summary, nodes, edge); });
  summary = PackGraph(ToyGraph()).summary;
  summary.num_edges += std::int64_t{1} << 61;
  ExpectError(ErrorCode::kCorrupt, "edges has 8 bytes, expected 230584300",
              [&] { DecodeFeatures(summary, nodes, edge); });
}

}  // namespace
}  // namespace foretell::dataset
