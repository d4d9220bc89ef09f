#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/error.h"
#include "src/kernels/composites.h"
#include "tests/kernels/kernels_of.h"

// What the rules say of operators that run several kernels. That they do the
// work of PyTorch's own calls is decomposition_*_test.cc.

namespace foretell::cost {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Run kRunBefore2 = {.torch = {1, 13}};

/// What is launched, whoever launches it.
std::vector<Kernel> Anonymous(std::vector<Kernel> kernels) {
  for (Kernel& kernel : kernels) kernel.node = 0;
  return kernels;
}

std::int64_t MacsOf(const std::vector<Kernel>& kernels) {
  std::int64_t macs = 0;
  for (const Kernel& kernel : kernels) macs += kernel.count * kernel.macs;
  return macs;
}

/// `text` with every "T" before "[" replaced by an element type.
std::string Typed(std::string text, const std::string& dtype) {
  for (std::size_t at = text.find("T["); at != std::string::npos;
       at = text.find("T[", at + dtype.size())) {
    text.replace(at, 1, dtype);
  }
  return text;
}

// An encoder block of a vision transformer, as a trace of nn.Module's fast path
// has it and as plain operators: three images of five tokens, two heads.
constexpr char kBlockSources[] = R"(%x = input T[3,5,16]
%w = parameter T[48,16]
%b = parameter T[48]
%p = parameter T[16,16]
%c = parameter T[16]
%n = parameter T[16]
%f = parameter T[32,16]
%g = parameter T[32]
%h = parameter T[16,32]
)";
constexpr char kAttentionCall[] =
    "%y, %none = _native_multi_head_attention(%x, %x, %x, %w, %b, %p, %c) "
    "{embed_dim=16, num_head=2, need_weights=false} : T[3,5,16], T[0]\n";
constexpr char kAttentionParts[] = R"(%qkv = linear(%x, %w, %b) : T[3,5,48]
%q0, %k0, %v0 = chunk(%qkv) {chunks=3, dim=-1} : T[3,5,16] alias %qkv, T[3,5,16] alias %qkv, T[3,5,16] alias %qkv
%q1 = view(%q0) : T[3,5,2,8] alias %q0
%k1 = view(%k0) : T[3,5,2,8] alias %k0
%v1 = view(%v0) : T[3,5,2,8] alias %v0
%q = transpose(%q1) {dim0=1, dim1=2} : T[3,2,5,8] alias %q1
%k = transpose(%k1) {dim0=1, dim1=2} : T[3,2,5,8] alias %k1
%v = transpose(%v1) {dim0=1, dim1=2} : T[3,2,5,8] alias %v1
%a = scaled_dot_product_attention(%q, %k, %v) : T[3,2,5,8]
%t = transpose(%a) {dim0=1, dim1=2} : T[3,5,2,8] alias %a
%m = reshape(%t) : T[3,5,16] alias %t
%y = linear(%m, %p, %c) : T[3,5,16]
)";
constexpr char kAfterAttention[] = "%z = add(%y, %x) : T[3,5,16]\n";

std::vector<Composite> AllComposites() {
  std::vector<Composite> all;
  for (const auto& family_of : kCompositeFamilies) {
    const std::span<const Composite> family = family_of();
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

/// Ways to run a graph, each with an element type.
struct Setting {
  const char* name;
  Run mode;
  const char* dtype;
  const char* info;
};

constexpr Setting kSettings[] = {
    {"Float", {}, "f32", ""},
    {"Tf32", {}, "f32", "precision=tf32"},
    {"Half", {.torch = {2, 4}}, "f16", ""},
    {"BFloat", {}, "bf16", ""},
    {"BFloatBefore25", {.torch = {2, 4}}, "bf16", ""},
    {"ChannelsLast", {.channels_last = true}, "f16", ""},
};

class CompositeBlock : public testing::TestWithParam<Setting> {
 protected:
  static std::vector<Kernel> Run(const std::string& body) {
    const Setting& setting = GetParam();
    return Anonymous(KernelsOf(Typed(kBlockSources + body, setting.dtype),
                               setting.mode, setting.info));
  }
};

TEST_P(CompositeBlock, AttentionIsItsPlainOperators) {
  const std::vector<Kernel> plain =
      Run(std::string(kAttentionParts) + kAfterAttention);
  EXPECT_EQ(Run(std::string(kAttentionCall) + kAfterAttention), plain);
  EXPECT_EQ(MacsOf(plain), 15 * (16 * 48 + 16 * 16) + 2 * 3 * 2 * 25 * 8);
}

TEST_P(CompositeBlock, AnEncoderLayerIsItsPlainOperators) {
  EXPECT_EQ(Run("%y = _transformer_encoder_layer_fwd(%x, %w, %b, %p, %c, %n, "
                "%n, %n, %n, %f, %g, %h, %c) {embed_dim=16, num_heads=2, "
                "use_gelu=true, norm_first=false} : T[3,5,16]\n"),
            Run(std::string(kAttentionParts) +
                R"(%r = add_(%y, %x) : T[3,5,16] alias %y
%n1 = layer_norm(%r, %n, %n) : T[3,5,16]
%rows = view(%n1) : T[15,16] alias %n1
%ft = transpose(%f) {dim0=0, dim1=1} : T[16,32] alias %f
%ht = transpose(%h) {dim0=0, dim1=1} : T[32,16] alias %h
%hidden = _addmm_activation(%g, %rows, %ft) : T[15,32]
%out = addmm(%c, %hidden, %ht) : T[15,16]
%o = view(%out) : T[3,5,16] alias %out
%s = add_(%o, %n1) : T[3,5,16] alias %o
%n2 = layer_norm(%s, %n, %n) : T[3,5,16]
)"));
}

INSTANTIATE_TEST_SUITE_P(Settings, CompositeBlock, testing::ValuesIn(kSettings),
                         [](const auto& test) {
                           return std::string(test.param.name);
                         });

TEST(KernelComposites, AttentionIsFusedFrom2On) {
  const std::string text = Typed(
      std::string(kBlockSources) + kAttentionCall + kAfterAttention, "f16");
  EXPECT_THAT(ClassesOf(text),
              ElementsAre("linear", "attention", "linear", "add"));
  EXPECT_THAT(ClassesOf(text, kRunBefore2),
              ElementsAre("linear", "copy", "matmul", "softmax", "matmul",
                          "copy", "linear", "add"));
}

TEST(KernelComposites, AttentionThatReturnsWeightsIsNotFused) {
  const std::string text = Typed(
      std::string(kBlockSources) +
          "%y, %weights = _native_multi_head_attention(%x, %x, %x, %w, %b, %p, "
          "%c) {num_head=2, need_weights=true} : T[3,5,16], T[3,5,5]\n",
      "f16");
  EXPECT_THAT(ClassesOf(text),
              ElementsAre("linear", "copy", "matmul", "softmax", "matmul",
                          "copy", "linear", "reduce", "multiply"));
}

TEST(KernelComposites, AMaskStaysWithFusedAttention) {
  const std::vector<Kernel> kernels = KernelsOf(
      Typed(std::string(kBlockSources) +
                "%mask = input bool[3,2,5,5]\n"
                "%y = _native_multi_head_attention(%x, %x, %x, %w, %b, %p, %c, "
                "%mask) {num_head=2, need_weights=false} : T[3,5,16]\n",
            "f16"));
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("linear", "attention", "linear"));
  EXPECT_TRUE(kernels[1].variant);
  EXPECT_EQ(kernels[1].node, 0);
}

// Recurrent layers: seven steps of two sequences.

std::string Lstm(const std::string& input, std::int64_t units,
                 const std::string& attributes, const std::string& output) {
  const std::string h = std::to_string(units);
  const std::string rows = std::to_string(4 * units);
  return "%x = input " + input + "\n%h = input f32[1,2," + h +
         "]\n%y, %a, %b = lstm(%x, %h, %h, parameter f32[" + rows +
         ",8], parameter f32[" + rows + "," + h + "], parameter f32[" + rows +
         "], parameter f32[" + rows + "]) {" + attributes + "} : " + output +
         ", f32[1,2," + h + "], f32[1,2," + h + "]\n";
}

TEST(KernelComposites, AnLstmLaunchesTwoKernelsPerStep) {
  const std::vector<Kernel> kernels =
      KernelsOf(Lstm("f32[7,2,8]", 200, "", "f32[7,2,200]"));
  ASSERT_THAT(ClassesOf(kernels),
              ElementsAre("linear", "linear", "elementwise"));
  EXPECT_EQ(kernels[0].count, 1);
  EXPECT_EQ(kernels[0].m, 14);
  EXPECT_EQ(kernels[0].macs, 14 * 800 * 8);
  EXPECT_EQ(kernels[1].count, 7);
  EXPECT_EQ(kernels[1].m, 2);
  EXPECT_EQ(kernels[1].n, 800);
  EXPECT_EQ(kernels[1].k, 200);
  EXPECT_EQ(kernels[1].bytes_weight, 800 * 200 * 4);
  EXPECT_EQ(kernels[2].count, 7);
  // gates from input and state, the cell state, two biases; both states
  EXPECT_EQ(kernels[2].bytes_in, 2 * (800 + 800 + 200) * 4);
  EXPECT_EQ(kernels[2].bytes_weight, 2 * 800 * 4);
  EXPECT_EQ(kernels[2].bytes_out, 2 * (200 + 200) * 4);
  EXPECT_EQ(MacsOf(kernels), 14 * 800 * (8 + 200));
}

TEST(KernelComposites, TrainingKeepsTheGatesOfAnLstm) {
  const std::vector<Kernel> kernels =
      KernelsOf(Lstm("f32[7,2,8]", 200, "train=true", "f32[7,2,200]"));
  EXPECT_EQ(kernels[2].bytes_out, 2 * (200 + 200 + 800) * 4);
}

TEST(KernelComposites, FewHiddenUnitsRunAllStepsInOneKernel) {
  const std::vector<Kernel> kernels =
      KernelsOf(Lstm("f32[7,2,8]", 192, "", "f32[7,2,192]"));
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("linear", "linear"));
  EXPECT_EQ(kernels[1].count, 1);
  EXPECT_EQ(kernels[1].m, 14);
  EXPECT_EQ(kernels[1].macs, 14 * 768 * 192);
  EXPECT_EQ(kernels[1].bytes_in, 14 * 768 * 4);
  EXPECT_EQ(kernels[1].bytes_weight, (768 * 192 + 2 * 768) * 4);
  EXPECT_EQ(kernels[1].bytes_out, 14 * 192 * 4);
}

TEST(KernelComposites, ASimpleLayerIsPersistentUpTo384Units) {
  const auto classes = [](const std::string& units) {
    return ClassesOf("%y = rnn_tanh(input f32[7,2,8], input f32[1,2," + units +
                     "], parameter f32[" + units + ",8], parameter f32[" +
                     units + "," + units + "]) : f32[7,2," + units + "]\n");
  };
  EXPECT_THAT(classes("384"), ElementsAre("linear", "linear"));
  EXPECT_THAT(classes("385"), ElementsAre("linear", "linear", "activation"));
}

// Nine tokens fill four steps of two rows, one is left.
TEST(KernelComposites, APackedSequenceRunsAsManyStepsAsItFills) {
  const std::vector<Kernel> kernels =
      KernelsOf(Lstm("f32[9,8]", 200, "", "f32[9,200]"));
  ASSERT_THAT(kernels, SizeIs(5));
  EXPECT_EQ(kernels[1].count, 4);
  EXPECT_EQ(kernels[1].m, 2);
  EXPECT_EQ(kernels[3].count, 1);
  EXPECT_EQ(kernels[3].m, 1);
  EXPECT_EQ(MacsOf(kernels), 9 * 800 * (8 + 200));
}

TEST(KernelComposites, ABatchBeforeTheStepsIsTurnedAndTurnedBack) {
  const std::string lstm =
      Lstm("f32[2,7,8]", 200, "batch_first=true", "f32[2,7,200]");
  const std::string rows = "%r = reshape(%y) : f32[14,200]\n";
  EXPECT_THAT(ClassesOf(lstm + rows),
              ElementsAre("copy", "linear", "linear", "elementwise", "copy"));
}

// PyTorch runs these in every step, whatever they are made of.
TEST(KernelComposites, CallsOnConstantsLaunchKernels) {
  EXPECT_THAT(ClassesOf("%x = input f32[4]\n%i = buffer i64[4]\n"
                        "%y = masked_fill(%x, %i) : f32[4]\n"
                        "| %m = eq(%i) {other=1} : bool[4]\n"
                        "| %y = where(%m, %x)\n"),
              ElementsAre("elementwise", "elementwise"));
}

TEST(KernelComposites, EinsumCopiesWhatDoesNotFold) {
  const std::string text =
      "%x = input f32[2,3,5,4]\n%y = input f32[3,7,4]\n"
      "%z = einsum(%x, %y) {equation=\"bhwc,hkc->bhwk\"} : f32[2,3,5,7]\n";
  EXPECT_THAT(ClassesOf(text), ElementsAre("copy", "matmul_fp32"));
}

TEST(KernelComposites, EinsumOfThreeIsTwoProducts) {
  EXPECT_THAT(ClassesOf("%x = input f32[4,4]\n"
                        "%z = einsum(%x, %x, %x) {equation=\"ij,jk,kl->il\"} "
                        ": f32[4,4]\n"),
              ElementsAre("matmul_fp32", "matmul_fp32"));
}

// Robustness: whatever a graph claims, there are kernels or an error.

const std::vector<std::string>& Shapes() {
  static const std::vector<std::string> shapes = {
      "f32[]",    "f32[0]",       "f32[3]",     "f32[2,3]",
      "f32[0,4]", "f32[3,2,3]",   "f32[1,1,1]", "bool[2,3]",
      "i64[3]",   "f16[2,3,4,5]", "f32[8,2,3]", "f32[1099511627776,65536]"};
  return shapes;
}

std::string Drawn(std::uint32_t& state) {
  state = state * 1664525U + 1013904223U;
  return Shapes()[(state >> 16U) % Shapes().size()];
}

/// A call of `target` with operands and a result of drawn shapes; the text of a
/// graph, which may be invalid.
std::string DrawCall(std::string_view target, int operands,
                     std::uint32_t& state) {
  std::string text = "graph \"g\"\n%y = " + std::string(target) + "(";
  for (int i = 0; i < operands; ++i) {
    text += (i > 0 ? ", input " : "input ") + Drawn(state);
  }
  return text +
         ") {num_head=2, num_heads=2, equation=\"ij,jk->ik\", dim=[1], "
         "dims=[0, 1], dims_self=[1], dims_other=[0], n=5, p=2.0, train=true, "
         "bidirectional=true, batch_first=true, label_smoothing=0.1, "
         "padding=\"same\"} : " +
         Drawn(state) + "\n";
}

std::optional<OperatorGraph> Parsed(const std::string& text) {
  try {
    return ParseGraph(text);
  } catch (const Error&) {
    return std::nullopt;  // Its MACs cannot be counted, for one.
  }
}

TEST(KernelComposites, HaveKernelsOrAnErrorForAnyGraph) {
  std::uint32_t state = 1;
  int listed = 0;
  int drawn = 0;
  for (const Composite& composite : AllComposites()) {
    for (int trial = 0; trial < 60; ++trial) {
      const std::string text = DrawCall(composite.target, trial % 15, state);
      const std::optional<OperatorGraph> graph = Parsed(text);
      if (!graph) continue;
      ++drawn;
      try {
        listed +=
            ExpandKernels(*graph, {.autocast = trial % 2 == 0}).empty() ? 0 : 1;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << text;
      }
    }
  }
  EXPECT_GT(drawn, 1000);
  EXPECT_GT(listed, drawn * 3 / 4);
}

TEST(KernelComposites, WhatIsNotUnderstoodStaysOneKernel) {
  EXPECT_THAT(ClassesOf("%y = lstm(input f32[7,2,8], parameter f32[800,8], "
                        "parameter f32[800,200]) : f32[7,2,200]\n"),
              ElementsAre("linear"));
}

TEST(KernelComposites, RefuseTensorsBeyondAnyMemory) {
  EXPECT_THROW(KernelsOf("%x = input f32[1073741824,1073741824,0]\n"
                         "%y = einsum(%x, %x) {equation=\"abc,dec->abde\"} : "
                         "f32[1073741824,1073741824,0,0]\n"),
               Error);
}

}  // namespace
}  // namespace foretell::cost
