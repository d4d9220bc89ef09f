// What freezing folds: by hand, and as Inductor's own passes do.

#include "src/runtime/compile/freeze.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "foretell/graph_io.h"
#include "src/graph/kind_sets.h"
#include "src/runtime/compile/compile.h"
#include "src/runtime/compile/decompose.h"

namespace foretell::runtime {
namespace {

constexpr char kFolder[] = FORETELL_SOURCE_DIR "/tests/golden/compile/";

OperatorGraph Frozen(const std::string& text, Freezing freezing) {
  RuntimeSpec spec{.runtime = Runtime::kCompile};
  spec.freezing = freezing;
  return Compile(ParseGraph(text), spec, kFusedScatters);
}

std::int64_t Products(const OperatorGraph& graph) {
  return std::ranges::count_if(
      graph.nodes(), [](const Node& node) { return IsProductKind(node.kind); });
}

/// Bytes of sources that a step has.
std::int64_t SourceBytes(const OperatorGraph& graph) {
  std::set<StorageId> seen;
  std::int64_t bytes = 0;
  for (const Value& value : graph.values()) {
    const Storage& storage = graph.storage(value.storage);
    if (value.producer == kNone && IsSourceRole(storage.role) &&
        seen.insert(value.storage).second) {
      bytes += storage.bytes;
    }
  }
  return bytes;
}

TEST(Freeze, FoldsWhatInductorFolds) {
  std::ifstream table(std::string(kFolder) + "frozen.csv");
  std::string line;
  std::getline(table, line);
  int count = 0;
  for (; std::getline(table, line); ++count) {
    std::istringstream row(line);
    std::string network, products, bytes;
    std::getline(row, network, ',');
    std::getline(row, products, ',');
    std::getline(row, bytes, ',');
    SCOPED_TRACE(network);
    std::ifstream file(kFolder + ("frozen/" + network + ".txt"));
    std::ostringstream text;
    text << file.rdbuf();
    const OperatorGraph frozen = Frozen(text.str(), Freezing::kKeep);
    EXPECT_EQ(Products(frozen), std::stoll(products));
    EXPECT_EQ(SourceBytes(frozen) - SourceBytes(ParseGraph(text.str())),
              std::stoll(bytes));
  }
  EXPECT_GE(count, 6);
}

constexpr char kCast[] = R"(graph "cast"
%x = input f16[64,64]
%w = parameter f32[64,64]
%v = parameter f16[64,64]
%c = to(%w) {copy=false} : f16[64,64]
%a = mm(%x, %c) : f16[64,64]
%b = mm(%a, %v) : f16[64,64]
output %b
)";

TEST(Freeze, ConvertsWeightsOnce) {
  const OperatorGraph frozen = Frozen(kCast, Freezing::kKeep);
  EXPECT_EQ(frozen.nodes().size(), 2U);
  EXPECT_EQ(SourceBytes(frozen), 64 * 64 * (4 + 2 + 2));
}

TEST(Freeze, DiscardsWhatNothingReads) {
  EXPECT_EQ(SourceBytes(Frozen(kCast, Freezing::kDiscard)), 64 * 64 * (2 + 2));
}

TEST(Freeze, LeavesTraining) {
  const std::string step = R"(graph "step" mode=training
%x = input f32[64,64]
%w = parameter f32[64,64]
%v = sin(%w) : f32[64,64]
%y = mm(%x, %v) : f32[64,64]
output %y
)";
  EXPECT_EQ(Frozen(step, Freezing::kKeep).nodes().size(), 2U);
}

// A cache is written in every call, and zeros are made where they are read.
TEST(Freeze, TakesNoCacheAndNoConstructorForAConstant) {
  const OperatorGraph frozen = Frozen(R"(graph "cache"
%x = input f32[64]
%k = buffer f32[64]
%z = zeros() {size=[64]} : f32[64]
%s = sin(%z) : f32[64]
%c = copy_(%k, %x) : f32[64] alias %k
%a = cos(%c) : f32[64]
%y = add(%a, %s) : f32[64]
output %y
)",
                                      Freezing::kKeep);
  EXPECT_EQ(SourceBytes(frozen), 64 * 4);
}

// A constant of the image's extents has more than one number per channel.
TEST(Freeze, FoldsNoConstantOfTheWholeImage) {
  const OperatorGraph frozen = Frozen(R"(graph "image"
%x = input f32[8,64,16,16]
%w = parameter f32[64,64,1,1]
%p = parameter f32[1,64,16,16]
%a = conv2d(%x, %w) {stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1} : f32[8,64,16,16]
%y = add(%a, %p) {alpha=1} : f32[8,64,16,16]
output %y
)",
                                      Freezing::kKeep);
  EXPECT_EQ(SourceBytes(frozen), 4 * (64 * 64 + 64 * 16 * 16));
}

}  // namespace
}  // namespace foretell::runtime
