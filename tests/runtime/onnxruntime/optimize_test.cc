#include "src/runtime/onnxruntime/optimize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "src/graph/attributes.h"

// Expected counts are what optimized_kinds.py prints of onnxruntime 1.32.0,
// Gemm and FusedMatMul as the product that they are. Reshapes and transposed
// operands, which have no kernel, are not counted.

namespace foretell::runtime {
namespace {

using Kinds = std::map<std::string, int>;

OperatorGraph Optimized(std::string_view lines, OrtLevel level,
                        bool overrides = false) {
  return OptimizeForOnnxRuntime(
      ParseGraph("graph \"g\" mode=inference precision=fp32 batch=2\n" +
                 std::string(lines)),
      {.runtime = Runtime::kOnnxRuntime,
       .level = level,
       .overrides = overrides});
}

Kinds KindsOf(const OperatorGraph& graph) {
  Kinds kinds;
  for (const Node& node : graph.nodes()) {
    if (node.kind == OpKind::kView) continue;
    std::string name = node.target;
    for (const Node& call : node.calls) name += "+" + call.target;
    ++kinds[name];
  }
  return kinds;
}

Kinds Remaining(std::string_view lines, OrtLevel level,
                bool overrides = false) {
  return KindsOf(Optimized(lines, level, overrides));
}

constexpr std::string_view kFeedForward =
    "%w1 = parameter f32[32,8]\n"
    "%b1 = parameter f32[32]\n"
    "%w2 = parameter f32[8,32]\n"
    "%b2 = parameter f32[8]\n"
    "%scale = parameter f32[8]\n"
    "%shift = parameter f32[8]\n"
    "%x = input f32[2,5,8]\n";

/// Normalizes after the block, as BERT.
std::string After() {
  return std::string(kFeedForward) +
         "%0 = linear(%x, %w1, %b1) : f32[2,5,32]\n"
         "%1 = gelu(%0) {approximate=\"none\"} : f32[2,5,32]\n"
         "%2 = linear(%1, %w2, %b2) : f32[2,5,8]\n"
         "%3 = add(%2, %x) {alpha=1} : f32[2,5,8]\n"
         "%4 = layer_norm(%3, %scale, %shift) {normalized_shape=[8]} : "
         "f32[2,5,8]\n"
         "output %4\n";
}

/// And before it, as ViT.
std::string Before() {
  return std::string(kFeedForward) +
         "%0 = layer_norm(%x, %scale, %shift) {normalized_shape=[8]} : "
         "f32[2,5,8]\n"
         "%1 = linear(%0, %w1, %b1) : f32[2,5,32]\n"
         "%2 = gelu(%1) {approximate=\"none\"} : f32[2,5,32]\n"
         "%3 = linear(%2, %w2, %b2) : f32[2,5,8]\n"
         "%4 = add(%x, %3) {alpha=1} : f32[2,5,8]\n"
         "output %4\n";
}

constexpr std::string_view kScores =
    "%x = input f32[2,2,5,8]\n"
    "%0 = transpose(%x) {dim0=-2, dim1=-1} : f32[2,2,8,5] "
    "strides=[80, 40, 1, 8] alias %x\n"
    "%1 = matmul(%x, %0) : f32[2,2,5,5]\n"
    "%2 = mul(%1) : f32[2,2,5,5]\n"
    "%3 = softmax(%2) {dim=-1} : f32[2,2,5,5]\n"
    "%4 = matmul(%3, %x) : f32[2,2,5,8]\n"
    "output %4\n";

constexpr std::string_view kConvolution =
    "%w = parameter f32[2,2,1,1]\n"
    "%c = parameter f32[2]\n"
    "%m = parameter f32[2,1,1]\n"
    "%n = parameter f32[1,2,1,1]\n"
    "%x = input f32[2,2,5,8]\n"
    "%0 = conv2d(%x, %w) {stride=[1, 1], padding=[0, 0], dilation=[1, 1], "
    "groups=1} : f32[2,2,5,8]\n"
    "%1 = batch_norm(%0, %c, %c, %c, %c) {training=false} : f32[2,2,5,8]\n"
    "%2 = mul(%1, %m) : f32[2,2,5,8]\n"
    "%3 = add(%2, %n) {alpha=1} : f32[2,2,5,8]\n"
    "%4 = add(%3, %x) {alpha=1} : f32[2,2,5,8]\n"
    "%5 = relu_(%4) : f32[2,2,5,8] alias %4\n"
    "output %5\n";

TEST(OptimizeForOnnxRuntime, FusesTheNormAfterABlock) {
  EXPECT_EQ(Remaining(After(), OrtLevel::kBasic), (Kinds{{"add", 4},
                                                         {"div", 1},
                                                         {"erf", 1},
                                                         {"layer_norm", 1},
                                                         {"linear", 2},
                                                         {"mul", 2}}));
  EXPECT_EQ(Remaining(After(), OrtLevel::kExtended),
            (Kinds{{"fused_elementwise+add+gelu", 1},
                   {"linear", 2},
                   {"fused_reduce+add+add+layer_norm", 1}}));
}

TEST(OptimizeForOnnxRuntime, LeavesTheNormBeforeABlock) {
  EXPECT_EQ(Remaining(Before(), OrtLevel::kExtended),
            (Kinds{{"add", 2},
                   {"fused_elementwise+add+gelu", 1},
                   {"layer_norm", 1},
                   {"linear", 2}}));
}

/// A Gemm adds its bias, so neither GELU nor the norm gets one.
TEST(OptimizeForOnnxRuntime, AddsBiasesInProductsOfKnownSizes) {
  constexpr bool kOverrides = true;
  EXPECT_EQ(
      Remaining(After(), OrtLevel::kExtended, kOverrides),
      (Kinds{{"gelu", 1}, {"linear", 2}, {"fused_reduce+add+layer_norm", 1}}));
  EXPECT_EQ(Remaining(Before(), OrtLevel::kBasic, kOverrides),
            (Kinds{{"add", 2},
                   {"div", 1},
                   {"erf", 1},
                   {"layer_norm", 1},
                   {"linear", 2},
                   {"mul", 2}}));
  EXPECT_EQ(Remaining(After(), OrtLevel::kDisabled, kOverrides).at("add"), 4);
}

/// A Reshape loses the batch if it only has a name.
TEST(OptimizeForOnnxRuntime, FusesNormsOfKnownSizes) {
  constexpr std::string_view kReshaped =
      "%w = parameter f32[8,8]\n"
      "%b = parameter f32[8]\n"
      "%x = input f32[2,5,8]\n"
      "%0 = reshape(%x) {shape=[-1, 5, 8]} : f32[2,5,8] alias %x\n"
      "%1 = linear(%0, %w, %b) : f32[2,5,8]\n"
      "%2 = add(%1, %0) {alpha=1} : f32[2,5,8]\n"
      "%3 = layer_norm(%2, %b, %b) {normalized_shape=[8]} : f32[2,5,8]\n"
      "output %3\n";
  EXPECT_EQ(Remaining(kReshaped, OrtLevel::kExtended),
            (Kinds{{"add", 2}, {"layer_norm", 1}, {"linear", 1}}));
  EXPECT_EQ(Remaining(kReshaped, OrtLevel::kExtended, true),
            (Kinds{{"linear", 1}, {"fused_reduce+add+layer_norm", 1}}));
  // The optimizer of "transformers" infers it.
  EXPECT_EQ(Remaining(kReshaped, OrtLevel::kTransformers),
            (Kinds{{"linear", 1}, {"fused_reduce+add+add+layer_norm", 1}}));
}

TEST(OptimizeForOnnxRuntime, MakesOneNodeOfGeluByTanh) {
  const std::string input = "%x = input f32[2,5,8]\n";
  const std::string end =
      "%t = tanh(%a) : f32[2,5,8]\n"
      "%g = add(%t) {alpha=1} : f32[2,5,8]\n"
      "%h = mul(%x) : f32[2,5,8]\n"
      "%y = mul(%h, %g) : f32[2,5,8]\n"
      "%r = relu(%y) : f32[2,5,8]\n"
      "output %r\n";
  const std::string power = input +
                            "%0 = pow(%x) {exponent=3} : f32[2,5,8]\n"
                            "%1 = mul(%0) : f32[2,5,8]\n"
                            "%2 = add(%x, %1) {alpha=1} : f32[2,5,8]\n"
                            "%a = mul(%2) : f32[2,5,8]\n" +
                            end;
  const std::string products = input +
                               "%0 = mul(%x) : f32[2,5,8]\n"
                               "%1 = mul(%0, %x) : f32[2,5,8]\n"
                               "%2 = add(%1) {alpha=1} : f32[2,5,8]\n"
                               "%3 = mul(%x) : f32[2,5,8]\n"
                               "%a = mul(%3, %2) : f32[2,5,8]\n" +
                               end;
  for (const std::string& lines : {power, products}) {
    EXPECT_EQ(Remaining(lines, OrtLevel::kExtended),
              (Kinds{{"gelu", 1}, {"relu", 1}}));
    EXPECT_EQ(Remaining(lines, OrtLevel::kBasic).at("tanh"), 1);
  }
  // Another operand than that of the power is no GELU.
  std::string other = power;
  other.replace(other.find("%h = mul(%x)"), 12, "%h = mul(%1)");
  EXPECT_EQ(Remaining(other, OrtLevel::kExtended).at("tanh"), 1);
}

TEST(OptimizeForOnnxRuntime, LetsProductsTransposeAndScale) {
  EXPECT_EQ(
      Remaining(kScores, OrtLevel::kBasic),
      (Kinds{
          {"matmul", 2}, {"mul", 1}, {"softmax", 1}, {"transpose_copy", 1}}));
  EXPECT_EQ(Remaining(kScores, OrtLevel::kExtended),
            (Kinds{{"matmul", 2}, {"softmax", 1}}));
}

TEST(OptimizeForOnnxRuntime, FoldsWhatIsAffineIntoConvolutions) {
  const OperatorGraph graph = Optimized(kConvolution, OrtLevel::kBasic);
  EXPECT_EQ(KindsOf(graph), (Kinds{{"add", 1}, {"conv2d", 1}, {"relu", 1}}));
  EXPECT_EQ(graph.node(0).inputs.size(), 3);  // A bias that was not there.
  EXPECT_EQ(Remaining(kConvolution, OrtLevel::kDisabled).at("batch_norm"), 1);
}

/// The CUDA provider of 1.31 has a kernel for HardSwish, the CPU's has none.
TEST(OptimizeForOnnxRuntime, KeepsHardSwishAndQuickGelu) {
  constexpr std::string_view kGates =
      "%x = input f32[2,2,5,8]\n"
      "%0 = hardswish(%x) : f32[2,2,5,8]\n"
      "%1 = silu(%0) : f32[2,2,5,8]\n"
      "output %1\n";
  EXPECT_EQ(Remaining(kGates, OrtLevel::kBasic),
            (Kinds{{"hardswish", 1}, {"mul", 1}, {"sigmoid", 1}}));
  EXPECT_EQ(Remaining(kGates, OrtLevel::kExtended),
            (Kinds{{"hardswish", 1}, {"silu", 1}}));
}

TEST(OptimizeForOnnxRuntime, WritesAttentionAsItsProducts) {
  constexpr std::string_view kAttention =
      "%m = input f32[2,1,5,7]\n"
      "%q = input f32[2,4,5,8]\n"
      "%k = input f32[2,2,7,8]\n"
      "%0 = scaled_dot_product_attention(%q, %k, %k, %m) {dropout_p=0.0, "
      "is_causal=false, enable_gqa=true} : f32[2,4,5,8]\n"
      "output %0\n";
  const OperatorGraph graph = Optimized(kAttention, OrtLevel::kExtended);
  EXPECT_EQ(KindsOf(graph), (Kinds{{"expand_copy", 2},
                                   {"matmul", 2},
                                   {"fused_reduce+add+softmax", 1}}));
  EXPECT_EQ(graph.ForwardMacs(), 2 * 2 * 4 * 5 * 7 * 8);
}

/// By the rules of fusion_attention.py; a session alone leaves the products.
TEST(OptimizeForOnnxRuntime, PacksProjectionsOfAttentionIfOptimizedBefore) {
  std::string lines =
      "%w = parameter f32[8,8]\n"
      "%b = parameter f32[8]\n"
      "%x = input f32[2,5,8]\n";
  for (const std::string n : {"q", "k", "v"}) {
    lines += "%l" + n + " = linear(%x, %w, %b) : f32[2,5,8]\n%h" + n +
             " = view(%l" + n +
             ") {size=[2, 5, 2, 4]} : f32[2,5,2,4] alias %l" + n + "\n%" + n +
             " = transpose(%h" + n +
             ") {dim0=1, dim1=2} : f32[2,2,5,4] strides=[40, 4, 8, 1] alias "
             "%h" +
             n + "\n";
  }
  lines +=
      "%a = scaled_dot_product_attention(%q, %k, %v) {dropout_p=0.0, "
      "is_causal=false, enable_gqa=false} : f32[2,2,5,4]\n"
      "%t = transpose(%a) {dim0=1, dim1=2} : f32[2,5,2,4] strides=[40, 4, 20, "
      "1] alias %a\n"
      "%r = relu(%t) : f32[2,5,2,4]\n"
      "output %r\n";
  EXPECT_EQ(Remaining(lines, OrtLevel::kTransformers),
            (Kinds{{"fused_elementwise+add+split_with_sizes_copy", 1},
                   {"linear", 1},
                   {"relu", 1},
                   {"scaled_dot_product_attention", 1}}));
  EXPECT_EQ(Remaining(lines, OrtLevel::kAll).at("linear"), 3);
  EXPECT_EQ(Remaining(lines, OrtLevel::kAll).at("transpose_copy"), 4);
}

TEST(OptimizeForOnnxRuntime, ComputesWhatIsConstantOnce) {
  constexpr std::string_view kTable =
      "%w = parameter f32[4,8]\n"
      "%x = input f32[2,8]\n"
      "%0 = transpose(%w) {dim0=0, dim1=1} : f32[8,4] strides=[1, 8] alias "
      "%w\n"
      "%1 = exp(%0) : f32[8,4]\n"
      "%2 = matmul(%x, %1) : f32[2,4]\n"
      "output %2\n";
  const OperatorGraph graph = Optimized(kTable, OrtLevel::kBasic);
  EXPECT_EQ(KindsOf(graph), (Kinds{{"matmul", 1}}));
  // The folded matrix, the input and the result; the parameter is gone.
  EXPECT_EQ(graph.storages().size(), 3);
  EXPECT_EQ(Remaining(kTable, OrtLevel::kDisabled),
            (Kinds{{"exp", 1}, {"matmul", 1}}));
}

TEST(OptimizeForOnnxRuntime, KeepsWhatWritesIntoABuffer) {
  constexpr std::string_view kCache =
      "%c = buffer f32[2,8]\n"
      "%x = input f32[2,8]\n"
      "%0 = add_(%c, %x) : f32[2,8] alias %c\n"
      "%1 = exp(%c) : f32[2,8]\n"
      "output %1\n";
  EXPECT_EQ(Remaining(kCache, OrtLevel::kAll), (Kinds{{"add", 1}, {"exp", 1}}));
}

/// By the rules of the planner: the activation overwrites its
/// operand, and the second product takes the buffer that the first gave up.
TEST(OptimizeForOnnxRuntime, PlansBuffersAsThePlannerDoes) {
  constexpr std::string_view kChain =
      "%w = parameter f32[8,8]\n"
      "%x = input f32[2,3,8]\n"
      "%0 = linear(%x, %w) : f32[2,3,8]\n"
      "%1 = relu(%0) : f32[2,3,8]\n"
      "%2 = linear(%1, %w) : f32[2,3,8]\n"
      "%3 = linear(%2, %w) : f32[2,3,8]\n"
      "%4 = linear(%3, %w) : f32[2,3,8]\n"
      "output %4\n";
  const OperatorGraph graph = Optimized(kChain, OrtLevel::kAll);
  const auto storage = [&graph](int node) {
    return graph.value(graph.node(node).outputs[0]).storage;
  };
  EXPECT_EQ(storage(1), storage(0));
  EXPECT_NE(storage(2), storage(0));
  EXPECT_EQ(storage(3), storage(0));
  EXPECT_NE(storage(4), storage(2));  // A result has a buffer of its own.
}

/// Sizes behind a Reshape are known in the run only, so nothing of them gets a
/// used buffer.
TEST(OptimizeForOnnxRuntime, GivesReshapedTensorsNewBuffers) {
  constexpr std::string_view kChain =
      "%w = parameter f32[8,8]\n"
      "%x = input f32[2,3,8]\n"
      "%v = view(%x) {size=[3, 2, 8]} : f32[3,2,8] alias %x\n"
      "%0 = linear(%v, %w) : f32[3,2,8]\n"
      "%1 = linear(%0, %w) : f32[3,2,8]\n"
      "%2 = linear(%1, %w) : f32[3,2,8]\n"
      "%3 = linear(%2, %w) : f32[3,2,8]\n"
      "output %3\n";
  const auto count = [](const OperatorGraph& graph) {
    std::set<StorageId> storages;
    for (const Node& node : graph.nodes()) {
      storages.insert(graph.value(node.outputs[0]).storage);
    }
    return storages.size();
  };
  // The input's, two and the result; a third takes the first one's buffer.
  EXPECT_EQ(count(Optimized(kChain, OrtLevel::kAll)), 5);
  EXPECT_EQ(count(Optimized(kChain, OrtLevel::kAll, true)), 4);
}

/// As com.microsoft.Attention of a file is recorded; the kernels are those of
/// its CUDA kernel in the file that the optimizer writes of BERT.
TEST(OptimizeForOnnxRuntime, KeepsAttentionThatIsANodeOfTheFile) {
  const auto lines = [](const std::string& linear) {
    std::string text =
        "%w = parameter f32[24,8]\n"
        "%b = parameter f32[24]\n"
        "%x = input f32[2,5,8]\n"
        "%l = linear(%x, %w, %b) : f32[2,5,24] @ \"" +
        linear +
        "\"\n"
        "%s0, %s1, %s2 = split_with_sizes(%l) {split_sizes=[8, 8, 8], dim=-1} "
        ": f32[2,5,8] strides=[120, 24, 1] alias %l, f32[2,5,8] strides=[120, "
        "24, 1] alias %l, f32[2,5,8] strides=[120, 24, 1] alias %l @ \"A\"\n";
    for (const std::string n : {"0", "1", "2"}) {
      text += "%h" + n + " = unflatten(%s" + n +
              ") {dim=-1, sizes=[2, 4]} : f32[2,5,2,4] strides=[120, 24, 4, 1] "
              "alias %l @ \"A\"\n%t" +
              n + " = transpose(%h" + n +
              ") {dim0=1, dim1=2} : f32[2,2,5,4] strides=[120, 4, 24, 1] alias "
              "%l @ \"A\"\n";
    }
    return text +
           "%a = scaled_dot_product_attention(%t0, %t1, %t2) {dropout_p=0.0, "
           "is_causal=false, enable_gqa=false} : f32[2,2,5,4] @ \"A\"\n"
           "output %a\n";
  };
  EXPECT_EQ(Remaining(lines("A"), OrtLevel::kAll),
            (Kinds{{"fused_elementwise+add+split_with_sizes_copy", 1},
                   {"linear", 1},
                   {"scaled_dot_product_attention", 1}}));
  // The linear layer is a node of its own: so is all the rest.
  EXPECT_EQ(Remaining(lines("B"), OrtLevel::kAll).at("matmul"), 2);
}

/// As com.microsoft.MultiHeadAttention of a file is recorded.
TEST(OptimizeForOnnxRuntime, KeepsAttentionThatCutsHeadsItself) {
  const auto lines = [](const std::string& query) {
    return "%w = parameter f32[8,8]\n%x = input f32[2,5,8]\n"
           "%q = linear(%x, %w) : f32[2,5,8] @ \"" +
           query +
           "\"\n"
           "%h = unflatten(%q) {dim=-1, sizes=[2, 4]} : f32[2,5,2,4] alias %q "
           "@ \"A\"\n"
           "%t = transpose(%h) {dim0=1, dim1=2} : f32[2,2,5,4] strides=[40, 4, "
           "8, 1] alias %q @ \"A\"\n"
           "%a = scaled_dot_product_attention(%t, %t, %t) {dropout_p=0.0, "
           "is_causal=false, enable_gqa=false} : f32[2,2,5,4] @ \"A\"\n"
           "%m = transpose(%a) {dim0=1, dim1=2} : f32[2,5,2,4] strides=[40, 4, "
           "20, 1] alias %a @ \"A\"\n"
           "%y = flatten(%m) {start_dim=2, end_dim=-1} : f32[2,5,8] @ \"A\"\n"
           "output %y\n";
  };
  EXPECT_EQ(Remaining(lines("B"), OrtLevel::kAll),
            (Kinds{{"linear", 1}, {"scaled_dot_product_attention", 1}}));
  // A is a module with a layer inside, of which an export writes the products.
  EXPECT_EQ(Remaining(lines("A.q"), OrtLevel::kAll).at("matmul"), 2);
}

/// As SkipLayerNormalization of a file is recorded: its bias comes last.
TEST(OptimizeForOnnxRuntime, FusesTheBiasThatFollowsAResidual) {
  constexpr std::string_view kNorm =
      "%b = parameter f32[8]\n"
      "%x = input f32[2,5,8]\n"
      "%y = input f32[2,5,8]\n"
      "%0 = add(%x, %y) {alpha=1} : f32[2,5,8]\n"
      "%1 = add(%0, %b) {alpha=1} : f32[2,5,8]\n"
      "%2 = layer_norm(%1, %b, %b) {normalized_shape=[8]} : f32[2,5,8]\n"
      "output %2\n";
  EXPECT_EQ(Remaining(kNorm, OrtLevel::kExtended),
            (Kinds{{"fused_reduce+add+add+layer_norm", 1}}));
}

/// What the session of 1.31's CUDA provider leaves of Relu, Atan, Tan, Relu.
TEST(OptimizeForOnnxRuntime, CopiesAroundOperatorsOfTheCpu) {
  constexpr std::string_view kAngles =
      "%x = input f32[2,5,8]\n"
      "%0 = relu(%x) : f32[2,5,8]\n"
      "%1 = atan(%0) : f32[2,5,8]\n"
      "%2 = tan(%1) : f32[2,5,8]\n"
      "%3 = relu(%2) : f32[2,5,8]\n"
      "output %3\n";
  const OperatorGraph graph = Optimized(kAngles, OrtLevel::kAll);
  EXPECT_EQ(KindsOf(graph), (Kinds{{"offload::from_host", 1},
                                   {"offload::run", 2},
                                   {"offload::to_host", 1},
                                   {"relu", 2}}));
  EXPECT_EQ(TextOf(graph.node(2), "operator"), "Atan");
  // The host's tensors take no memory of the GPU.
  const auto bytes = [&graph](int node) {
    return graph.storage(graph.value(graph.node(node).outputs[0]).storage)
        .bytes;
  };
  EXPECT_EQ(bytes(0), 320);
  EXPECT_EQ(bytes(1), 0);
  EXPECT_EQ(bytes(2), 0);
  EXPECT_EQ(bytes(4), 320);
}

/// And of GridSample, which has a kernel for float32 alone.
TEST(OptimizeForOnnxRuntime, PlacesOperatorsByTheirTypes) {
  const auto kinds = [](const std::string& type) {
    return Remaining("%x = input " + type +
                         "[2,3,8,8]\n"
                         "%g = input " +
                         type +
                         "[2,4,4,2]\n"
                         "%0 = grid_sampler(%x, %g) : " +
                         type + "[2,3,4,4]\n%1 = relu(%0) : " + type +
                         "[2,3,4,4]\noutput %1\n",
                     OrtLevel::kAll);
  };
  EXPECT_EQ(kinds("f32"), (Kinds{{"grid_sampler", 1}, {"relu", 1}}));
  // No copy of inputs that only the CPU reads.
  EXPECT_EQ(
      kinds("f16"),
      (Kinds{{"offload::from_host", 1}, {"offload::run", 1}, {"relu", 1}}));
}

/// What 1.31's CUDA provider leaves with prefer_nhwc, Transposes as clones.
TEST(OptimizeForOnnxRuntime, KeepsImagesChannelsLastIfAsked) {
  const std::string network =
      "%w = parameter f32[4,3,3,3]\n"
      "%v = parameter f32[4,4,1,1]\n"
      "%x = input f32[2,3,8,8]\n"
      "%0 = conv2d(%x, %w) {stride=[1, 1], padding=[1, 1], dilation=[1, 1], "
      "groups=1} : f32[2,4,8,8]\n"
      "%1 = adaptive_avg_pool2d(%0) {output_size=[1, 1]} : f32[2,4,1,1]\n"
      "%2 = conv2d(%1, %v) {stride=[1, 1], padding=[0, 0], dilation=[1, 1], "
      "groups=1} : f32[2,4,1,1]\n"
      "%3 = sigmoid(%2) : f32[2,4,1,1]\n"
      "%4 = mul(%0, %3) : f32[2,4,8,8]\n";
  const auto optimized = [&network](const std::string& end, bool nhwc) {
    return OptimizeForOnnxRuntime(
        ParseGraph("graph \"g\" mode=inference precision=fp32 batch=2\n" +
                   network + end),
        {.runtime = Runtime::kOnnxRuntime, .nhwc = nhwc});
  };
  const std::string image = "output %4\n";
  const OperatorGraph graph = optimized(image, true);
  EXPECT_EQ(KindsOf(graph), (Kinds{{"adaptive_avg_pool2d", 1},
                                   {"clone", 2},
                                   {"conv2d", 2},
                                   {"mul", 1},
                                   {"sigmoid", 1}}));
  const auto strides = [&graph](ValueId id) { return graph.value(id).strides; };
  EXPECT_THAT(strides(graph.node(1).inputs[1]),
              testing::ElementsAre(27, 1, 9, 3));
  EXPECT_THAT(strides(graph.node(1).outputs[0]),
              testing::ElementsAre(256, 1, 32, 4));
  EXPECT_THAT(strides(graph.outputs()[0]), testing::IsEmpty());
  EXPECT_EQ(KindsOf(optimized(image, false)).count("clone"), 0);
  // A sum over positions needs no Transpose, an instance norm needs one.
  EXPECT_EQ(KindsOf(optimized("%5 = mean(%4) {dim=[2, 3], keepdim=false} : "
                              "f32[2,4]\noutput %5\n",
                              true))
                .at("clone"),
            1);
  EXPECT_EQ(KindsOf(optimized("%5 = instance_norm(%4) : f32[2,4,8,8]\n"
                              "%6 = relu(%5) : f32[2,4,8,8]\noutput %6\n",
                              true))
                .at("clone"),
            2);
}

/// As 1.31 leaves them: zeros go into the convolution, other numbers stay.
TEST(OptimizeForOnnxRuntime, FoldsZerosAroundImages) {
  const auto kinds = [](const std::string& value) {
    return Remaining(
        "%w = parameter f32[4,3,3,3]\n"
        "%x = input f32[2,3,8,8]\n"
        "%0 = constant_pad_nd(%x) {pad=[0, 1, 0, 1], value=" +
            value +
            "} : f32[2,3,9,9]\n"
            "%1 = conv2d(%0, %w) {stride=[1, 1], padding=[0, 0], "
            "dilation=[1, 1], groups=1} : f32[2,4,7,7]\n"
            "output %1\n",
        OrtLevel::kBasic);
  };
  EXPECT_EQ(kinds("0"), (Kinds{{"conv2d", 1}}));
  EXPECT_EQ(kinds("1.5"), (Kinds{{"constant_pad_nd", 1}, {"conv2d", 1}}));
}

/// As 1.31 leaves them: the pair that rounds nothing goes, the other stays.
TEST(OptimizeForOnnxRuntime, RemovesCastsToAWiderTypeAndBack) {
  const auto casts = [](const std::string& from, const std::string& to) {
    return Remaining("%x = input " + from +
                         "[2,8]\n"
                         "%0 = relu(%x) : " +
                         from + "[2,8]\n%1 = to(%0) : " + to +
                         "[2,8]\n"
                         "%2 = to(%1) : " +
                         from + "[2,8]\n%3 = relu(%2) : " + from +
                         "[2,8]\noutput %3\n",
                     OrtLevel::kDisabled);
  };
  EXPECT_EQ(casts("f16", "f32"), (Kinds{{"relu", 2}}));
  EXPECT_EQ(casts("f32", "f16"), (Kinds{{"relu", 2}, {"to", 2}}));
}

/// By keep_io_types of the optimizer's conversion to float16.
TEST(OptimizeForOnnxRuntime, CastsResultsOfAConvertedFileBack) {
  const OperatorGraph graph = OptimizeForOnnxRuntime(
      ParseGraph("graph \"g\" mode=inference precision=fp16 batch=2\n"
                 "%x = input f16[2,8]\n"
                 "%0 = relu(%x) : f16[2,8]\n"
                 "output %0\n"),
      {.runtime = Runtime::kOnnxRuntime, .level = OrtLevel::kTransformers});
  EXPECT_EQ(KindsOf(graph), (Kinds{{"_to_copy", 1}, {"relu", 1}}));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.dtype, DType::kF32);
}

/// As nodes of a file that Stable Diffusion's optimizer wrote are recorded; by
/// the kernels of contrib_ops/cuda.
TEST(OptimizeForOnnxRuntime, KeepsNodesOfStableDiffusionWhole) {
  const OperatorGraph graph = Optimized(
      "%w = parameter f32[4,3,3,3] strides=[27, 1, 9, 3]\n"
      "%g = parameter f32[4]\n"
      "%x = input f32[2,8,8,3]\n"
      "%0 = movedim(%x) {source=[-1], destination=[1]} : f32[2,3,8,8] "
      "strides=[192, 1, 24, 3] alias %x @ \"c\"\n"
      "%1 = conv2d(%0, %w) {stride=[1, 1], padding=[1, 1], dilation=[1, 1], "
      "groups=1} : f32[2,4,8,8] strides=[256, 1, 32, 4] @ \"c\"\n"
      "%2 = movedim(%1) {source=[1], destination=[-1]} : f32[2,8,8,4] alias "
      "%1 @ \"c\"\n"
      "%3 = add(%2, %2) {alpha=1} : f32[2,8,8,4] @ \"n\"\n"
      "%4 = movedim(%3) {source=[-1], destination=[1]} : f32[2,4,8,8] "
      "strides=[256, 1, 32, 4] alias %3 @ \"n\"\n"
      "%5 = group_norm(%4, %g, %g) {num_groups=2} : f32[2,4,8,8] @ \"n\"\n"
      "%6 = silu(%5) : f32[2,4,8,8] @ \"n\"\n"
      "%7 = movedim(%6) {source=[1], destination=[-1]} : f32[2,8,8,4] "
      "strides=[256, 8, 1, 64] alias %6 @ \"n\"\n"
      "%8 = add(%7, %g) {alpha=1} : f32[2,8,8,4] @ \"s\"\n"
      "%9, %10 = chunk(%8) {chunks=2, dim=-1} : f32[2,8,8,2] strides=[256, "
      "32, 4, 1] alias %8, f32[2,8,8,2] strides=[256, 32, 4, 1] alias %8 @ "
      "\"s\"\n"
      "%11 = gelu(%10) {approximate=\"none\"} : f32[2,8,8,2] @ \"s\"\n"
      "%12 = mul(%9, %11) : f32[2,8,8,2] @ \"s\"\n"
      "%13 = relu(%3) : f32[2,8,8,4]\n"
      "output %12, %13\n",
      OrtLevel::kBasic);
  EXPECT_EQ(KindsOf(graph),
            (Kinds{{"conv2d", 1},
                   {"fused_elementwise+add+split_copy+gelu+mul", 1},
                   {"fused_reduce+add+group_norm+silu", 1},
                   {"relu", 1}}));
  EXPECT_THAT(graph.value(graph.node(1).inputs[0]).strides,
              testing::ElementsAre(192, 1, 24, 3));
}

TEST(OptimizeForOnnxRuntime, RefusesToTrain) {
  const OperatorGraph graph = ParseGraph(
      "graph \"g\" mode=training precision=fp32 batch=2\n"
      "%x = input f32[2,2]\n"
      "%0 = relu(%x) : f32[2,2]\n"
      "output %0\n");
  EXPECT_THROW(
      OptimizeForOnnxRuntime(graph, {.runtime = Runtime::kOnnxRuntime}), Error);
}

}  // namespace
}  // namespace foretell::runtime
