#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/error.h"
#include "tests/kernels/kernels_of.h"

// What the rules say of operators that run several kernels. That they do the
// work of PyTorch's own calls is decomposition_*_test.cc.

namespace foretell::cost {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::int64_t MacsOf(const std::vector<Kernel>& kernels) {
  std::int64_t macs = 0;
  for (const Kernel& kernel : kernels) macs += kernel.count * kernel.macs;
  return macs;
}

/// Operators that run several kernels inside, where no trace sees them.
constexpr std::string_view kSeveral[] = {"_cudnn_rnn_backward",
                                         "addmm",
                                         "binary_cross_entropy",
                                         "gru",
                                         "huber_loss",
                                         "linear",
                                         "lstm",
                                         "mse_loss",
                                         "rnn_relu",
                                         "rnn_tanh",
                                         "smooth_l1_loss"};

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

TEST(KernelComposites, ACallRunsAsOftenAsItSays) {
  const std::string sum =
      "%y = addbmm(input f32[3,5], input f32[7,3,4], input f32[7,4,5]) : "
      "f32[3,5]\n"
      "| %c = copy_(%y.input0) : f32[3,5]\n"
      "| %l = select(%y.input1) : f32[3,4] alias %y.input1\n"
      "| %r = select(%y.input2) : f32[4,5] alias %y.input2\n"
      "| %y = addmm_(%c, %l, %r) {times=";
  const std::vector<Kernel> kernels = KernelsOf(sum + "7}\n");
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("copy", "linear"));
  EXPECT_EQ(kernels[0].count, 1);
  EXPECT_EQ(kernels[1].count, 7);
  EXPECT_EQ(MacsOf(kernels), 7 * 3 * 4 * 5);
  for (const char* const times : {"0", "-1", "2147483648", "1.5"}) {
    EXPECT_THROW(KernelsOf(sum + times + "}\n"), Error) << times;
  }
}

// Images times groups are launches, too.
TEST(KernelComposites, LaunchesOfACallThatCannotBeCountedAreRefused) {
  EXPECT_THROW(KernelsOf("%x = input f16[1099511627776,1,1,1,2]\n"
                         "%y = block(%x, weight f16[1,1,1,1,2]) : "
                         "f16[1099511627776,1,1,1,1]\n"
                         "| %y = conv3d(%x, %y.weight1) {times=2147483647}\n",
                         {.torch = {.major = 2, .minor = 9}}),
               Error);
}

TEST(KernelComposites, LossesAreComputedAndReduced) {
  const auto loss = [](const std::string& target, const std::string& more,
                       const std::string& result) {
    return KernelsOf("%y = " + target + "(input f32[4,6], input f32[4,6]" +
                     more + " : " + result + "\n");
  };
  for (const char* const target :
       {"huber_loss", "mse_loss", "smooth_l1_loss"}) {
    const std::vector<Kernel> kernels = loss(target, ")", "f32[]");
    ASSERT_THAT(ClassesOf(kernels), ElementsAre("add", "reduce")) << target;
    EXPECT_EQ(kernels[0].bytes_in, 2 * 24 * 4);
    EXPECT_EQ(kernels[0].bytes_out, 24 * 4);
    EXPECT_EQ(kernels[0].inner_extent, 6);
    EXPECT_FALSE(kernels[0].variant);
    EXPECT_EQ(kernels[1].bytes_in, 24 * 4);
    EXPECT_EQ(kernels[1].bytes_out, 4);
    EXPECT_EQ(kernels[1].inner_extent, 24);
    EXPECT_THAT(loss(target, ") {reduction=0}", "f32[4,6]"), SizeIs(1));
  }
  EXPECT_THAT(ClassesOf(loss("binary_cross_entropy", ")", "f32[]")),
              ElementsAre("add", "reduce", "copy"));
  const std::vector<Kernel> weighted = loss(
      "binary_cross_entropy", ", buffer f32[6]) {reduction=0}", "f32[4,6]");
  ASSERT_THAT(ClassesOf(weighted), ElementsAre("add", "multiply"));
  EXPECT_EQ(weighted[1].bytes_in, 24 * 4);
  EXPECT_EQ(weighted[1].bytes_weight, 6 * 4);
  EXPECT_TRUE(weighted[1].variant);
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
  for (const std::string_view target : kSeveral) {
    for (int trial = 0; trial < 120; ++trial) {
      const std::string text = DrawCall(target, trial % 15, state);
      const std::optional<OperatorGraph> graph = Parsed(text);
      if (!graph) continue;
      ++drawn;
      try {
        listed += ExpandKernels(*graph, {.autocast = trial % 2 == 0,
                                         .torch = {.major = 1, .minor = 10}})
                          .empty()
                      ? 0
                      : 1;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << text;
      }
    }
  }
  EXPECT_GT(drawn, 700);
  EXPECT_GT(listed, drawn * 3 / 4);
}

TEST(KernelComposites, WhatIsNotUnderstoodStaysOneKernel) {
  EXPECT_THAT(ClassesOf("%y = lstm(input f32[7,2,8], parameter f32[800,8], "
                        "parameter f32[800,200]) : f32[7,2,200]\n"),
              ElementsAre("linear"));
}

}  // namespace
}  // namespace foretell::cost
