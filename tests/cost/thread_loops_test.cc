#include "src/cost/thread_loops.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cost/kernel_time.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

// 64 lanes of each of 100 SMs reach 10^7 FLOP per us at 781.25 MHz.
constexpr double kCyclesPerUs = 781.25;

class ThreadLoops : public testing::Test {
 protected:
  double LoopOf(const std::string& body, std::size_t index = 0) const {
    return LoopUs(KernelsOf(body).at(index), machine_, 0);
  }
  double CyclesOf(const std::string& body, std::size_t index = 0) const {
    return LoopOf(body, index) * kCyclesPerUs;
  }

  DeviceSpec device_ = test::RoundDevice();
  Machine machine_ = MakeMachine(device_, {});
};

std::string Op(const std::string& call, const std::string& from,
               const std::string& to) {
  return "%x = input f32[" + from + "]\n%y = " + call + " : f32[" + to + "]\n";
}

TEST_F(ThreadLoops, OfAPoolingCountResultsAndWindows) {
  const std::string pool =
      Op("avg_pool2d(%x) {kernel_size=[2, 2], stride=[2, 2]}", "8,64,64,64",
         "8,64,32,32");
  // 64 lanes take twice as long over each of the four elements.
  EXPECT_DOUBLE_EQ(CyclesOf(pool), 8 * 64 * 32 * 32 * (2.5 + 4 * 0.16) / 100);
  const std::string largest =
      Op("max_pool1d(%x) {kernel_size=[8], stride=[1]}", "8,64,71", "8,64,64");
  EXPECT_DOUBLE_EQ(CyclesOf(largest), 8 * 64 * 64 * (2.15 + 8 * 0.43) / 100);
}

TEST_F(ThreadLoops, OfAVolumeFillBlocksOf32By8Results) {
  const auto pool = [](const std::string& to) {
    return Op("avg_pool3d(%x) {kernel_size=[2, 2, 2], stride=[2, 2, 2]}",
              "4,8,32,64,64", to);
  };
  EXPECT_DOUBLE_EQ(CyclesOf(pool("4,8,16,32,32")),
                   4 * 8 * 16 * 32 * 32 * (3.75 + 8 * 0.17) / 100);
  EXPECT_DOUBLE_EQ(LoopOf(pool("4,8,16,32,32")), LoopOf(pool("4,8,16,25,31")));
}

TEST_F(ThreadLoops, TakeAdaptivePoolingToOneElementForAMean) {
  const std::string mean = Op("adaptive_avg_pool2d(%x) {output_size=[1, 1]}",
                              "64,2048,7,7", "64,2048,1,1");
  const Kernel kernel = KernelsOf(mean).at(0);
  EXPECT_EQ(kernel.kernel_class, KernelClass::kReduce);
  EXPECT_EQ(kernel.rows, 64 * 2048);
  EXPECT_EQ(kernel.row_elements, 49);
  // Blocks of 16 rows, 400 at a time.
  EXPECT_DOUBLE_EQ(CyclesOf(mean), 64 * 2048 / 16 / 400.0 * 3700);
}

TEST_F(ThreadLoops, OfALayerNormGoAlongAllNormalisedDimensions) {
  const std::string norm =
      Op("layer_norm(%x) {normalized_shape=[64, 128, 128]}", "8,64,128,128",
         "8,64,128,128");
  EXPECT_DOUBLE_EQ(CyclesOf(norm), 64 * 128 * 128 / 512 * 2050);
  // 1,600 blocks run at a time.
  const std::string rows =
      Op("layer_norm(%x) {normalized_shape=[1024]}", "3200,1024", "3200,1024");
  EXPECT_DOUBLE_EQ(CyclesOf(rows), 2 * 2 * 2050);
}

TEST_F(ThreadLoops, OfAGroupNormWaitForEachElementOfAThread) {
  const auto norm = [](const std::string& shape, const std::string& groups) {
    return Op("group_norm(%x) {num_groups=" + groups + "}", shape, shape);
  };
  EXPECT_DOUBLE_EQ(CyclesOf(norm("20,6,65536", "3")), 256 * 815);
  EXPECT_DOUBLE_EQ(CyclesOf(norm("2,6,513", "6")), 2 * 815);
  // 400 blocks run at a time.
  EXPECT_DOUBLE_EQ(CyclesOf(norm("400,8,512", "1")), 8 * 815);
  EXPECT_DOUBLE_EQ(CyclesOf(norm("800,8,512", "1")), 16 * 815);
}

TEST_F(ThreadLoops, OfAGroupNormComeBeforeThePassesThatFillTheGpu) {
  const std::string body =
      Op("group_norm(%x) {num_groups=3}", "20,6,65536", "20,6,65536");
  const Kernel kernel = KernelsOf(body).at(0);
  EXPECT_DOUBLE_EQ(
      TimeOf(kernel, machine_).memory_us,
      256 * 815 / kCyclesPerUs + Real(kernel.Bytes()) / 1e6 / 0.5 * 2 / 3);
}

TEST_F(ThreadLoops, OfABatchNormHaveABlockForEachChannel) {
  const auto norm = [](const std::string& type) {
    const std::string shape = type + "[16,32,16,64,64]";
    return "%x = input " + shape +
           "\n%y = batch_norm(%x) {training=true} : " + shape + "\n";
  };
  EXPECT_DOUBLE_EQ(CyclesOf(norm("bf16")), 16 * 16 * 64 * 64 / 512 * 815);
  const Kernel statistics = KernelsOf(norm("f32")).at(0);
  EXPECT_EQ(statistics.rows, 32);
  const double traffic_us = 10;
  EXPECT_DOUBLE_EQ(LoopUs(statistics, machine_, traffic_us),
                   16 * 16 * 64 * 64 / 512 * 563 / kCyclesPerUs - 20);
}

TEST_F(ThreadLoops, OfASoftmaxAlongAnOuterDimensionFollowItsBlocks) {
  const auto softmax = [](const std::string& shape, const std::string& dim) {
    return Op("softmax(%x) {dim=" + dim + "}", shape, shape);
  };
  EXPECT_DOUBLE_EQ(CyclesOf(softmax("4096,8192", "0")), 4096 * 2420);
  // 16 threads share each of the 64 neighbours' rows.
  EXPECT_DOUBLE_EQ(CyclesOf(softmax("4096,64", "0")), 256 * 2420);
  EXPECT_LT(LoopOf(softmax("8192,4096", "1")),
            LoopOf(softmax("4096,8192", "0")));
}

TEST_F(ThreadLoops, OfALongSoftmaxFollowTheRuntimesBlocks) {
  const std::string softmax =
      "%x = input f16[2048,4096]\n%y = softmax(%x) {dim=-1} : f16[2048,4096]\n";
  // ONNX Runtime: 512 vectors of 16 bytes, 256 threads, four times the blocks.
  const Kernel kernel = KernelsOf(softmax, {}, "runtime=onnxruntime").at(0);
  EXPECT_DOUBLE_EQ(LoopOf(softmax) / LoopUs(kernel, machine_, 0), 16);
}

// 64 lanes take twice as long over each element.
TEST_F(ThreadLoops, OfASoftmaxOfShortRowsShareAWarp) {
  const auto softmax = [](const std::string& shape) {
    return Op("softmax(%x) {dim=1}", shape, shape);
  };
  EXPECT_DOUBLE_EQ(CyclesOf(softmax("1000000,2")) * 100,
                   1e6 * (15.0 / 16 + 2 * 0.66));
  EXPECT_DOUBLE_EQ(CyclesOf(softmax("1000000,32")) * 100,
                   1e6 * (15 + 32 * 0.66));
}

TEST_F(ThreadLoops, OfAScanFollowPyTorchsBlocks) {
  const auto scan = [](const std::string& shape, const std::string& dim) {
    return Op("cumsum(%x) {dim=" + dim + "}", shape, shape);
  };
  // 16 threads for a row, 32 rows to a block, 400 blocks at a time.
  EXPECT_DOUBLE_EQ(CyclesOf(scan("12800,4096", "1")), 128 * 5400);
  // So many rows that PyTorch's unsigned difference wraps: a block for each.
  EXPECT_DOUBLE_EQ(CyclesOf(scan("262144,64", "1")), 262144 / 400.0 * 5400);
  EXPECT_DOUBLE_EQ(CyclesOf(scan("4096,8192", "0")), 4096 * 754);
}

TEST_F(ThreadLoops, OfCopiesDependOnHowTheyRead) {
  const std::string dense = Op("clone(%x)", "1024,4096", "1024,4096");
  EXPECT_EQ(LoopOf(dense), 0);
  const std::string strided =
      "%x = input f32[1024,8192]\n%s = slice(%x) : f32[1024,4096] "
      "strides=[8192, 1] alias %x\n%y = contiguous(%s) : f32[1024,4096]\n";
  EXPECT_DOUBLE_EQ(CyclesOf(strided), 1024 * 4096 * 0.6 / 100);
  const std::string turned =
      "%x = input f32[4096,1024]\n%t = t(%x) : f32[1024,4096] "
      "strides=[1, 1024] alias %x\n%y = contiguous(%t) : f32[1024,4096]\n";
  EXPECT_DOUBLE_EQ(CyclesOf(turned), 1024 * 4096 * 1.87 / 100);
}

TEST_F(ThreadLoops, OfElementsCountResultsAndWhatEachTakes) {
  EXPECT_DOUBLE_EQ(CyclesOf(Op("flip(%x) {dims=[1]}", "64,4096", "64,4096")),
                   64 * 4096 * 0.6 / 100);
  const std::string fold =
      Op("col2im(%x) {output_size=[8, 8], kernel_size=[3, 3], dilation=[1, 1], "
         "padding=[1, 1], stride=[1, 1]}",
         "2,36,64", "2,4,8,8");
  EXPECT_DOUBLE_EQ(CyclesOf(fold), 2 * 4 * 8 * 8 * 9 * 4.2 / 100);
  EXPECT_EQ(KernelsOf(fold).at(0).bytes_in, 2 * 36 * 64 * 4);
}

TEST_F(ThreadLoops, UnfoldImageByImage) {
  const std::string unfold =
      Op("im2col(%x) {kernel_size=[3, 3], dilation=[1, 1], padding=[1, 1], "
         "stride=[1, 1]}",
         "5,4,8,8", "5,36,64");
  EXPECT_EQ(KernelsOf(unfold).at(0).launches, 5);
  EXPECT_DOUBLE_EQ(CyclesOf(unfold), 5 * 36 * 64 * 1.0 / 100);
}

TEST_F(ThreadLoops, MirrorBordersElementByElement) {
  const auto pad = [](const std::string& mode) {
    return KernelsOf(
        Op("pad(%x) {pad=[1, 1], mode=\"" + mode + "\"}", "8,64", "8,66"));
  };
  EXPECT_EQ(pad("reflect").at(0).rows, 8 * 66);
  EXPECT_EQ(pad("reflect").at(0).loop, ElementLoop::kReflected);
  EXPECT_EQ(pad("constant").at(1).rows, 8 * 64);
  EXPECT_EQ(pad("constant").at(1).loop, ElementLoop::kShuffled);
}

TEST_F(ThreadLoops, OfCastsFrom16BitsCountElements) {
  const std::string cast = "%x = input f16[64,64]\n%y = to(%x) : f32[64,64]\n";
  EXPECT_DOUBLE_EQ(CyclesOf(cast), 64 * 64 * 0.68 / 100);
  EXPECT_DOUBLE_EQ(
      CyclesOf("%x = input bf16[64,64]\n%y = to(%x) : f16[64,64]\n"),
      64 * 64 * 0.68 / 100);
  EXPECT_EQ(LoopOf("%x = input f32[64,64]\n%y = to(%x) : f16[64,64]\n"), 0);
}

TEST_F(ThreadLoops, OfASortCountElementsOfTheLargestRowsToo) {
  const auto sorted = [&](const std::string& call) {
    return CyclesOf("%x = input f32[64,512]\n%y, %i = " + call +
                    " : f32[64,8], i64[64,8]\n");
  };
  EXPECT_DOUBLE_EQ(sorted("sort(%x) {dim=1}"), 64 * 512 * 20.0 / 100);
  EXPECT_DOUBLE_EQ(sorted("topk(%x) {k=8, dim=1}"),
                   64 * (550 + 512 * 5.6) / 100);
}

TEST_F(ThreadLoops, OfABagCountTheRowsThatItSums) {
  const Kernel kernel = KernelsOf(
                            "%w = parameter f32[1000,64]\n%i = input i64[96]\n"
                            "%o = input i64[12]\n"
                            "%y = embedding_bag(%w, %i, %o) : f32[12,64]\n")
                            .at(0);
  EXPECT_EQ(kernel.rows, 96 * 64);
  EXPECT_EQ(kernel.bytes_weight, 96 * 64 * 4);
}

TEST_F(ThreadLoops, OfAPlaneOfABatchNormTakeLongerOnHopper) {
  const auto cycles = [](const std::string& type, const std::string& extents) {
    const std::string image = type + "[8,64," + extents + "]";
    return LoopUs(KernelsOf("%x = input " + image +
                            "\n%y = batch_norm(%x, weight f32[64], weight "
                            "f32[64], buffer f32[64], buffer f32[64]) "
                            "{training=false} : " +
                            image + "\n")
                      .at(0),
                  MakeMachine(test::RoundHopper(), {}), 0) *
           test::kRoundHopperClockMhz;
  };
  EXPECT_DOUBLE_EQ(cycles("f32", "64,64"), 512 * 4096 * 0.88 / 100);
  EXPECT_DOUBLE_EQ(cycles("f16", "64,64"), 512 * 4096 * 0.84 / 100);
  EXPECT_DOUBLE_EQ(cycles("f16", "128,64"), 512 * 8192 * 0.62 / 100);
  EXPECT_DOUBLE_EQ(cycles("f16", "8,8"), 512 * 150.0 / 100);
}

TEST_F(ThreadLoops, OfPointwiseGroupsMultiplyDirectlyBeforeCudnn9) {
  const auto direct_us = [&](TorchVersion torch, const std::string& type) {
    return DirectLoopUs(
        KernelsOf("%x = input " + type +
                      "[8,64,16,16]\n%y = conv2d(%x, weight " + type +
                      "[64,16,1,1]) {groups=4} : " + type + "[8,64,16,16]\n",
                  {.torch = torch})
            .at(0),
        machine_);
  };
  constexpr TorchVersion kOld = {.major = 2, .minor = 5};
  EXPECT_DOUBLE_EQ(direct_us(kOld, "f32") * kCyclesPerUs,
                   8 * 64 * 256 * 16 * 0.18 / 100);
  EXPECT_EQ(direct_us(kOld, "f16"), 0);
  EXPECT_EQ(direct_us({.major = 2, .minor = 8}, "f32"), 0);
}

TEST_F(ThreadLoops, OfStridedGroupsMultiplyDirectlyInTheForwardPassAlone) {
  Kernel kernel = {.kernel_class = KernelClass::kTransposedConvolution,
                   .macs = 1'000'000,
                   .window_height = 3,
                   .window_width = 5,
                   .stride = 2,
                   .groups = 2,
                   .element_bytes_in = 4};
  EXPECT_DOUBLE_EQ(DirectLoopUs(kernel, machine_) * kCyclesPerUs,
                   1e6 * 0.18 / 100);
  kernel.pass = ProductPass::kInputGradient;
  EXPECT_EQ(DirectLoopUs(kernel, machine_), 0);
}

TEST_F(ThreadLoops, OfTheGradientOfLigersNormGoFromRowToRow) {
  EXPECT_DOUBLE_EQ(
      CyclesOf("%d = input f16[64,256]\n%x = input f16[64,256]\n"
               "%w = parameter f16[256]\n%r = input f32[64]\n"
               "%g, %v = liger::rms_norm_backward(%d, %x, %w, %r) : "
               "f16[64,256], f16[256]\n"),
      64 * 256 * 1.6 / 100);
}

TEST_F(ThreadLoops, OfALossGoOverAllRowsInOneBlock) {
  const auto kernel = [](TorchVersion torch) {
    return KernelsOf(
               "%x = input f32[32768,10]\n%t = input i64[32768]\n"
               "%y, %w = nll_loss_forward(%x, %t) {reduction=1} : f32[], "
               "f32[]\n",
               {.torch = torch})
        .at(0);
  };
  const Kernel old = kernel({.major = 2, .minor = 5});
  EXPECT_EQ(old.row_elements, 32768 / 32);
  EXPECT_EQ(old.bytes_in, 32768 * 32);
  EXPECT_EQ(kernel({.major = 2, .minor = 11}).row_elements, 32768 / 1024);
  EXPECT_DOUBLE_EQ(LoopUs(old, machine_, 0) * kCyclesPerUs, 1024 * 600.0);
  device_.l2_mib = 1;
  EXPECT_DOUBLE_EQ(LoopUs(old, machine_, 0) * kCyclesPerUs, 1024 * 1500.0);
}

}  // namespace
}  // namespace foretell::cost
