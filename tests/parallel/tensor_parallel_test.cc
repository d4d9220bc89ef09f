// Layers that GPUs share, on the steps of tests/golden/parallel and on graphs
// of a few operators, counted by hand.

#include <gtest/gtest.h>

#include <string>

#include "foretell/graph_io.h"
#include "src/graph/collective.h"
#include "src/graph/strides.h"
#include "src/parallel/parallelize.h"
#include "tests/graph/expect_error.h"
#include "tests/parallel/step_files.h"

namespace foretell {
namespace {

/// Three heads of 8 in one projection, a mask, and a unit behind them.
constexpr char kAttention[] = R"(graph "attention" batch=2
%x = input f32[2,5,24]
%qkv = linear(%x, weight f32[72,24]) : f32[2,5,72]
%q, %k, %v = chunk(%qkv) {chunks=3, dim=-1} : f32[2,5,24] alias %qkv, f32[2,5,24] alias %qkv, f32[2,5,24] alias %qkv
%q.h = view(%q) {size=[2,5,3,8]} : f32[2,5,3,8] alias %q
%k.h = view(%k) {size=[2,5,3,8]} : f32[2,5,3,8] alias %k
%v.h = view(%v) {size=[2,5,3,8]} : f32[2,5,3,8] alias %v
%q.t = transpose(%q.h) {dim0=1, dim1=2} : f32[2,3,5,8] alias %q.h
%k.t = transpose(%k.h) {dim0=1, dim1=2} : f32[2,3,5,8] alias %k.h
%v.t = transpose(%v.h) {dim0=1, dim1=2} : f32[2,3,5,8] alias %v.h
%a = scaled_dot_product_attention(%q.t, %k.t, %v.t) : f32[2,3,5,8]
%a.t = transpose(%a) {dim0=1, dim1=2} : f32[2,5,3,8] alias %a
%a.r = reshape(%a.t) {shape=[2,5,24]} : f32[2,5,24]
%out = linear(%a.r, weight f32[24,24]) : f32[2,5,24]
%norm = layer_norm(%out) {normalized_shape=[24]} : f32[2,5,24]
%head = linear(%norm, weight f32[10,24]) : f32[2,5,10]
output %head
)";

OperatorGraph Shared(const std::string& text, const std::string& plan) {
  return parallel::Parallelize(ParseGraph(text), ParseParallel("plan", plan),
                               {});
}

TensorType TypeOf(const OperatorGraph& graph, const std::string& name) {
  for (const Value& value : graph.values()) {
    if (value.name == name) return value.type;
  }
  ADD_FAILURE() << "no value " << name;
  return {};
}

Strides StridesOfName(const OperatorGraph& graph, const std::string& name) {
  for (const Value& value : graph.values()) {
    if (value.name == name) return value.strides;
  }
  ADD_FAILURE() << "no value " << name;
  return {};
}

// Queries share the storage of the projection with keys and values: a part of
// them has the gaps of the part of the projection.
TEST(TensorParallel, KeepsHowPartsLie) {
  const OperatorGraph graph = Shared(R"(graph "attention" batch=2
%x = input f32[2,5,24]
%qkv = linear(%x, weight f32[72,24]) : f32[2,5,72]
%q, %k, %v = chunk(%qkv) {chunks=3, dim=-1} : f32[2,5,24] strides=[360, 72, 1] alias %qkv, f32[2,5,24] strides=[360, 72, 1] alias %qkv, f32[2,5,24] strides=[360, 72, 1] alias %qkv
%q.h = view(%q) {size=[2,5,3,8]} : f32[2,5,3,8] strides=[360, 72, 8, 1] alias %q
%k.h = view(%k) {size=[2,5,3,8]} : f32[2,5,3,8] strides=[360, 72, 8, 1] alias %k
%v.h = view(%v) {size=[2,5,3,8]} : f32[2,5,3,8] strides=[360, 72, 8, 1] alias %v
%q.t = transpose(%q.h) {dim0=1, dim1=2} : f32[2,3,5,8] strides=[360, 8, 72, 1] alias %q.h
%k.t = transpose(%k.h) {dim0=1, dim1=2} : f32[2,3,5,8] strides=[360, 8, 72, 1] alias %k.h
%v.t = transpose(%v.h) {dim0=1, dim1=2} : f32[2,3,5,8] strides=[360, 8, 72, 1] alias %v.h
%a = scaled_dot_product_attention(%q.t, %k.t, %v.t) : f32[2,3,5,8] strides=[120, 8, 24, 1]
%a.t = transpose(%a) {dim0=1, dim1=2} : f32[2,5,3,8] alias %a
%a.r = reshape(%a.t) {shape=[2,5,24]} : f32[2,5,24] alias %a.t
%out = linear(%a.r, weight f32[24,24]) : f32[2,5,24]
output %out
)",
                                     "tp:3");
  EXPECT_EQ(StridesOfName(graph, "q"), (Strides{120, 24, 1}));
  EXPECT_EQ(StridesOfName(graph, "q.h"), (Strides{120, 24, 8, 1}));
  EXPECT_EQ(StridesOfName(graph, "k.t"), (Strides{120, 8, 24, 1}));
  EXPECT_EQ(StridesOfName(graph, "a"), Strides{});
  EXPECT_EQ(StridesOfName(graph, "a.r"), Strides{});
}

struct Sums {
  int forward = 0;
  int backward = 0;
  std::int64_t bytes = 0;
};

Sums SumsOf(const OperatorGraph& graph) {
  Sums sums;
  for (const Node& node : graph.nodes()) {
    const std::optional<Collective> one = CollectiveOf(node);
    if (!one) continue;
    EXPECT_EQ(one->target, kAllReduce);
    ++(node.phase == Phase::kForward ? sums.forward : sums.backward);
    sums.bytes += one->bytes;
  }
  return sums;
}

TEST(TensorParallel, SharesHeadsAndWhatFollowsThem) {
  const OperatorGraph graph = Shared(kAttention, "tp:3");
  EXPECT_EQ(ToString(TypeOf(graph, "qkv")), "f32[2,5,24]");
  EXPECT_EQ(ToString(TypeOf(graph, "q")), "f32[2,5,8]");
  EXPECT_EQ(ToString(TypeOf(graph, "k.t")), "f32[2,1,5,8]");
  EXPECT_EQ(ToString(TypeOf(graph, "a.r")), "f32[2,5,8]");
  EXPECT_EQ(ToString(TypeOf(graph, "out")), "f32[2,5,24]");
  const std::optional<SharedLayerCounts> layers = CountSharedLayers(graph);
  ASSERT_TRUE(layers);
  EXPECT_EQ(layers->columns, 1);
  EXPECT_EQ(layers->rows, 1);
  EXPECT_EQ(layers->whole, 1);
  const Sums sums = SumsOf(graph);
  EXPECT_EQ(sums.forward, 1);
  EXPECT_EQ(sums.bytes, 2 * 5 * 24 * 4);
  // A third of both layers' work, all of the head's.
  EXPECT_EQ(graph.ForwardMacs(),
            10 * (24 * 24 + 8 * 24 + 10 * 24) + 2 * 2 * 1 * 5 * 5 * 8);
}

/// Attention of three heads on windows of 4 tokens, with relative positions
/// that are looked up.
std::string WindowsWith(const std::string& look_up) {
  return R"(graph "windows" batch=2
%x = input f32[2,4,24]
%table = parameter f32[7,3]
%places = buffer i64[16]
%qk = linear(%x, weight f32[24,24]) : f32[2,4,24]
%h = view(%qk) {size=[2,4,3,8]} : f32[2,4,3,8] alias %qk
%q = transpose(%h) {dim0=1, dim1=2} : f32[2,3,4,8] alias %h
%k = transpose(%q) {dim0=2, dim1=3} : f32[2,3,8,4] alias %q
%scores = matmul(%q, %k) : f32[2,3,4,4]
)" + look_up +
         R"(%sum = add(%scores, %bias) : f32[2,3,4,4]
%p = softmax(%sum) {dim=-1} : f32[2,3,4,4]
%a = matmul(%p, %q) : f32[2,3,4,8]
%a.t = transpose(%a) {dim0=1, dim1=2} : f32[2,4,3,8] alias %a
%a.r = reshape(%a.t) {shape=[2,4,24]} : f32[2,4,24]
%out = linear(%a.r, weight f32[24,24]) : f32[2,4,24]
output %out
)";
}

TEST(TensorParallel, SharesATableOfPositionsByHeads) {
  const OperatorGraph graph =
      Shared(WindowsWith(
                 R"(%found = index(%table, %places) : f32[16,3]
%square = view(%found) {size=[4,4,3]} : f32[4,4,3] alias %found
%bias = permute(%square) {dims=[2,0,1]} : f32[3,4,4] alias %square
)"),
             "tp:3");
  EXPECT_EQ(ToString(TypeOf(graph, "table")), "f32[7,1]");
  EXPECT_EQ(ToString(TypeOf(graph, "bias")), "f32[1,4,4]");
  EXPECT_EQ(ToString(TypeOf(graph, "scores")), "f32[2,1,4,4]");
  EXPECT_EQ(ToString(TypeOf(graph, "places")), "i64[16]");
}

TEST(TensorParallel, SharesWhatIsRepeatedForTheBatch) {
  const OperatorGraph graph =
      Shared(WindowsWith(
                 R"(%of_heads = linear(%x, weight f32[24,24]) : f32[2,4,24]
%first = slice(%of_heads) {dim=0, start=0, end=1, step=1} : f32[1,4,24] alias %of_heads
%by_head = view(%first) {size=[1,4,3,8]} : f32[1,4,3,8] alias %first
%turned = transpose(%by_head) {dim0=1, dim1=2} : f32[1,3,4,8] alias %by_head
%flat = view(%turned) {size=[3,4,8]} : f32[3,4,8] alias %turned
%twice = repeat(%flat) {repeats=[2,1,1]} : f32[6,4,8]
%both = view(%twice) {size=[2,3,4,8]} : f32[2,3,4,8] alias %twice
%bias = matmul(%both, %k) : f32[2,3,4,4]
)"),
             "tp:3");
  EXPECT_EQ(ToString(TypeOf(graph, "twice")), "f32[2,4,8]");
  EXPECT_EQ(CountSharedLayers(graph)->columns, 2);
}

TEST(TensorParallel, GathersAlongOtherDimensionsThanHeads) {
  const auto gathered = [](const std::string& dim) {
    return Shared(
        WindowsWith(R"(%bias = gather(%scores, buffer i64[2,3,4,4]) {dim=)" +
                    dim + R"(, sparse_grad=false} : f32[2,3,4,4]
)"),
        "tp:3");
  };
  EXPECT_EQ(ToString(TypeOf(gathered("-1"), "bias")), "f32[2,1,4,4]");
  ExpectError([&] { gathered("1"); }, ErrorCode::kInvalidArgument,
              "none of 2 layers can be shared");
}

TEST(TensorParallel, LeavesATableAloneThatIsLookedUpByHeads) {
  // Along the heads, which no GPU has all of.
  ExpectError(
      [] {
        Shared(
            WindowsWith(
                R"(%turned = view(%table) {size=[7,3]} : f32[7,3] alias %table
%found = index(%turned, parameter i64[3]) : f32[7,3]
%few = slice(%found) {dim=0, start=0, end=1, step=1} : f32[1,3] alias %found
%bias = view(%few) {size=[3,1,1]} : f32[3,1,1] alias %few
)"),
            "tp:3");
      },
      ErrorCode::kInvalidArgument, "none of 2 layers can be shared");
}

TEST(TensorParallel, NamesTheLayerThatCannotBeSharedEvenly) {
  ExpectError([] { Shared(kAttention, "tp:2"); }, ErrorCode::kInvalidArgument,
              "reads 3 heads, which 2 GPUs cannot share evenly");
  ExpectError([] { parallel_test::ReadStep("blocks").Under("tp:8"); },
              ErrorCode::kInvalidArgument,
              "tp:8: layer 'blocks.0.out' reads 4 heads, which 8 GPUs cannot "
              "share evenly");
}

TEST(TensorParallel, RefusesWhereNothingCanBeShared) {
  // Norms stand between the layers.
  ExpectError([] { parallel_test::ReadStep("mlp").Under("tp:2"); },
              ErrorCode::kInvalidArgument,
              "tp:2: none of 4 layers can be shared");
}

TEST(TensorParallel, SharesACacheByHeads) {
  const OperatorGraph graph = Shared(R"(graph "decode" batch=2
%x = input f32[2,1,32]
%past = input f32[2,4,7,8]
%k = linear(%x, weight f32[32,32]) : f32[2,1,32]
%k.h = view(%k) {size=[2,1,4,8]} : f32[2,1,4,8] alias %k
%k.t = transpose(%k.h) {dim0=1, dim1=2} : f32[2,4,1,8] alias %k.h
%all = cat(%past, %k.t) {dim=2} : f32[2,4,8,8]
%a = scaled_dot_product_attention(%k.t, %all, %all) : f32[2,4,1,8]
%a.t = transpose(%a) {dim0=1, dim1=2} : f32[2,1,4,8] alias %a
%a.r = view(%a.t) {size=[2,1,32]} : f32[2,1,32] alias %a.t
%out = linear(%a.r, weight f32[32,32]) : f32[2,1,32]
output %out
output %all
)",
                                     "tp:4");
  EXPECT_EQ(ToString(TypeOf(graph, "past")), "f32[2,1,7,8]");
  EXPECT_EQ(ToString(TypeOf(graph, "all")), "f32[2,1,8,8]");
  EXPECT_EQ(ToString(TypeOf(graph, "x")), "f32[2,1,32]");
}

TEST(TensorParallel, LeavesAPartAloneThatSomethingElseNeedsWhole) {
  // The middle features are softmax's too.
  ExpectError(
      [] {
        Shared(R"(graph "leak" batch=2
%x = input f32[2,8]
%a = linear(%x, weight f32[16,8]) : f32[2,16]
%p = softmax(%a) {dim=-1} : f32[2,16]
%b = linear(%a, weight f32[8,16]) : f32[2,8]
output %b
output %p
)",
               "tp:2");
      },
      ErrorCode::kInvalidArgument, "none of 2 layers can be shared");
}

TEST(TensorParallel, AddsUpBehindRowsAndBeforeColumns) {
  const OperatorGraph fused = parallel_test::ReadStep("blocks").Under("tp:2");
  const Sums of_fused = SumsOf(fused);
  EXPECT_EQ(of_fused.forward, 6);
  EXPECT_EQ(of_fused.backward, 6);
  EXPECT_EQ(of_fused.bytes, 12 * 4 * 12 * 16 * 4);
  // Query, key, value, gate and up add up their gradients each.
  const OperatorGraph gated = parallel_test::ReadStep("gated").Under("tp:2");
  EXPECT_EQ(SumsOf(gated).forward, 6);
  EXPECT_EQ(SumsOf(gated).backward, 15);
  EXPECT_EQ(CountSharedLayers(gated)->columns, 15);
  EXPECT_EQ(CountSharedLayers(gated)->rows, 6);
  EXPECT_EQ(CountSharedLayers(gated)->whole, 1);
}

TEST(TensorParallel, SharesAVocabularyByWords) {
  const OperatorGraph graph =
      parallel_test::ReadStep("language").Under("tp:4,vocabulary");
  EXPECT_EQ(ToString(TypeOf(graph, "embedding.weight")), "f32[12,16]");
  EXPECT_EQ(ToString(TypeOf(graph, "head.weight")), "f32[12,16]");
  EXPECT_EQ(ToString(TypeOf(graph, "head.bias")), "f32[12]");
  EXPECT_EQ(CountSharedLayers(graph)->whole, 0);
  int gathered = 0;
  int summed = 0;
  for (const Node& node : graph.nodes()) {
    const std::optional<Collective> one = CollectiveOf(node);
    if (!one) continue;
    gathered += one->target == kAllGather ? 1 : 0;
    summed += one->target == kAllReduce ? 1 : 0;
  }
  EXPECT_EQ(gathered, 1);
  // Of layers 12, of the look-up and of the gradient of the head's input.
  EXPECT_EQ(summed, 14);
  for (const ValueId output : graph.outputs()) {
    EXPECT_EQ(ToString(graph.value(output).type), "f32[4,12,48]");
  }
}

/// A table of 12 words, one of 3 positions, two layers that are shared and a
/// head that reads the table.
constexpr char kTied[] = R"(graph "tied" batch=2
%words = parameter f32[12,4]
%x = input i64[2,5]
%places = input i64[5]
%e = embedding(%words, %x) : f32[2,5,4]
%p = embedding(parameter f32[3,4], %places) : f32[5,4]
%s = add(%e, %p) : f32[2,5,4]
%a = linear(%s, weight f32[8,4]) : f32[2,5,8]
%b = relu(%a) : f32[2,5,8]
%c = linear(%b, weight f32[4,8]) : f32[2,5,4]
%head = linear(%c, %words) : f32[2,5,12]
output %head
)";

TEST(TensorParallel, SharesATableThatTheHeadReadsToo) {
  const OperatorGraph whole = Shared(kTied, "tp:2");
  EXPECT_EQ(ToString(TypeOf(whole, "words")), "f32[12,4]");
  const OperatorGraph graph = Shared(kTied, "tp:2,vocabulary");
  EXPECT_EQ(ToString(TypeOf(graph, "words")), "f32[6,4]");
  EXPECT_EQ(ToString(TypeOf(graph, "p")), "f32[5,4]");
  EXPECT_EQ(ToString(graph.value(graph.outputs().front()).type), "f32[2,5,12]");
}

TEST(TensorParallel, RefusesVocabulariesThatCannotBeShared) {
  ExpectError([] { Shared(kTied, "tp:8,vocabulary"); },
              ErrorCode::kInvalidArgument,
              "table 'words' has 12 words, which 8 GPUs cannot share evenly");
  ExpectError([] { Shared(kAttention, "tp:3,vocabulary"); },
              ErrorCode::kInvalidArgument,
              "the network has no token embedding");
}

}  // namespace
}  // namespace foretell
