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

/// Operators that run several kernels inside, where no trace sees them or a
/// graph may lack the calls.
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

// A layer of three steps as a trace lists it: cuDNN multiplies in TF32, and
// queues the kernels of the steps one after the other.
TEST(KernelComposites, StepsOfARecurrentLayerAreCudnns) {
  const std::vector<Kernel> kernels = KernelsOf(
      "%x = input f32[3,2,4]\n%h = input f32[1,2,8]\n%w = parameter f32[8,4]\n"
      "%y, %n = rnn_relu(%x, %h, %w, parameter f32[8,8]) : f32[3,2,8], "
      "f32[1,2,8]\n"
      "| %g = linear(%x, %w) : f32[3,2,8]\n"
      "| %s = relu(%g) {times=3} : f32[2,8]\n");
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("linear", "relu"));
  EXPECT_EQ(kernels[0].arithmetic, Precision::kTf32);
  EXPECT_FALSE(kernels[0].repeated);
  EXPECT_EQ(kernels[1].count, 3);
  EXPECT_TRUE(kernels[1].repeated);
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

TEST(KernelComposites, ARecurrentLayerWithoutCallsIsAKernelPerStep) {
  const std::vector<Kernel> kernels = KernelsOf(
      "%x = input f32[2,7,8]\n%h = input f32[2,2,200]\n"
      "%w = parameter f32[600,8]\n%u = parameter f32[600,200]\n"
      "%v = parameter f32[600,200]\n"
      "%y = gru(%x, %h, %w, %u, %v, %u) {batch_first=true} : f32[2,7,200]\n");
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("linear"));
  EXPECT_EQ(kernels[0].count, 14);
  EXPECT_EQ(kernels[0].m, 2);
  EXPECT_TRUE(kernels[0].repeated);
}

}  // namespace
}  // namespace foretell::cost
