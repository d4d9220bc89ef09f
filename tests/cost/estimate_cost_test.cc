#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "foretell/cost.h"
#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "src/cost/gemm.h"
#include "tests/cost/test_device.h"

namespace foretell {
namespace {

CostEstimate EstimateText(const std::string& text,
                          const CostOptions& options = {}) {
  return EstimateCost(ParseGraph(text), test::RoundDevice(), options);
}

/// `count` ReLUs in a row on f32[elements].
std::string ReluChain(int count, std::int64_t elements) {
  const std::string type = "f32[" + std::to_string(elements) + "]";
  std::string text = "graph \"chain\"\n%v0 = input " + type + "\n";
  for (int i = 0; i < count; ++i) {
    text += "%v" + std::to_string(i + 1) + " = relu(%v" + std::to_string(i) +
            ") : " + type + "\n";
  }
  return text + "output %v" + std::to_string(count) + "\n";
}

// 2 x 4 x 10,875,000 bytes at 0.87 of 10^6 per microsecond: 100 us, and 3 us
// for the launch.
constexpr std::int64_t kHundredUs = 10'875'000;

TEST(EstimateCost, BoundsAnElementwiseOperatorByBandwidth) {
  const CostEstimate cost = EstimateText(ReluChain(1, kHundredUs));
  const NodeCost& node = cost.nodes.at(0);
  EXPECT_DOUBLE_EQ(node.bytes_read, 43.5e6);
  EXPECT_DOUBLE_EQ(node.bytes_written, 43.5e6);
  EXPECT_NEAR(node.gpu_us, 103, 1e-9);
  EXPECT_EQ(node.bound, CostBound::kMemory);
  EXPECT_DOUBLE_EQ(node.dispatch_us, 6);
  EXPECT_NEAR(cost.latency_ms, 0.109, 1e-9);
  EXPECT_NEAR(cost.memory_ms, 0.103, 1e-9);
  EXPECT_NEAR(cost.overhead_ms, 0.006, 1e-9);
  EXPECT_EQ(cost.compute_ms, 0);
}

TEST(EstimateCost, LetsTheCpuRunAheadOfABusyGpu) {
  const CostEstimate cost = EstimateText(ReluChain(3, kHundredUs));
  EXPECT_NEAR(cost.latency_ms, 0.006 + 3 * 0.103, 1e-9);
  EXPECT_NEAR(cost.gpu_ms, 3 * 0.103, 1e-9);
  EXPECT_NEAR(cost.dispatch_ms, 3 * 0.006, 1e-9);
}

TEST(EstimateCost, WaitsForTheCpuWhenTheKernelsAreShort) {
  const CostEstimate cost = EstimateText(ReluChain(10, 1));
  // Ten dispatches of 6 us, then the last kernel's 3 us.
  EXPECT_NEAR(cost.latency_ms, 0.063, 1e-6);
  EXPECT_EQ(cost.nodes[0].bound, CostBound::kLaunch);
  EXPECT_NEAR(cost.overhead_ms, cost.latency_ms, 1e-12);
}

/// Launching a product, and loading its first tiles.
constexpr double kProductUs = 3 + 2.5;

TEST(EstimateCost, BoundsAMatrixProductByArithmetic) {
  const CostEstimate cost = EstimateText(R"(graph "gemm"
%x = input f32[1280,1024]
%y = linear(%x, weight f32[1280,1024]) : f32[1280,1280]
output %y
)");
  const double tile_us = 2.0 * 128 * 128 * 1024 / (1e5 * 0.87);
  EXPECT_NEAR(cost.nodes[0].gpu_us, kProductUs + tile_us, 1e-6);
  EXPECT_EQ(cost.nodes[0].bound, CostBound::kCompute);
  EXPECT_NEAR(cost.compute_ms, cost.nodes[0].gpu_us / 1e3, 1e-12);
}

double ReshapedGpuUs(const std::string& precision, const std::string& type,
                     bool convolution) {
  const std::string header = "graph \"g\" precision=" + precision + "\n";
  const std::string body =
      convolution
          ? "%x = input " + type + "[32,256,32,32]\n%y = conv2d(%x, weight " +
                type + "[256,256,3,3]) {padding=[1,1]} : " + type +
                "[32,256,32,32]\n"
          : "%x = input " + type + "[4096,2048]\n%y = linear(%x, weight " +
                type + "[2048,2048]) : " + type + "[4096,2048]\n";
  return EstimateText(header + body).nodes.at(0).gpu_us;
}

TEST(EstimateCost, RunsFloat32ConvolutionsInTf32EitherWay) {
  EXPECT_DOUBLE_EQ(ReshapedGpuUs("fp32", "f32", true),
                   ReshapedGpuUs("tf32", "f32", true));
  // 38.7 GMAC: at the FP32 peak alone it would take 7,730 us.
  EXPECT_LT(ReshapedGpuUs("fp32", "f32", true), 3000);
}

TEST(EstimateCost, RunsFloat32ProductsInTf32OnlyWhenAsked) {
  const double fp32 = ReshapedGpuUs("fp32", "f32", false);
  const double tf32 = ReshapedGpuUs("tf32", "f32", false);
  EXPECT_GT(fp32, 2.0 * 4096 * 2048 * 2048 / 1e7);
  EXPECT_LT(tf32, fp32 / 5);
}

TEST(EstimateCost, RunsSixteenBitTensorsInTheirOwnType) {
  EXPECT_LT(ReshapedGpuUs("fp16", "f16", false),
            0.7 * ReshapedGpuUs("tf32", "f32", false));
  EXPECT_DOUBLE_EQ(ReshapedGpuUs("fp16", "f16", true),
                   ReshapedGpuUs("bf16", "bf16", true));
}

TEST(EstimateCost, ChargesAViewForItsDispatchOnly) {
  const CostEstimate cost = EstimateText(R"(graph "view"
%x = input f32[100]
%v = view(%x) {size=[10,10]} : f32[10,10] alias %x
output %v
)");
  EXPECT_EQ(cost.nodes[0].gpu_us, 0);
  EXPECT_EQ(cost.nodes[0].energy_j, 0);
  EXPECT_EQ(cost.nodes[0].bound, CostBound::kLaunch);
  EXPECT_NEAR(cost.latency_ms, 0.002, 1e-12);
}

double ConvolutionUs(int groups, int channels) {
  const std::string c = std::to_string(channels);
  return EstimateText("graph \"g\"\n%x = input f32[16," + c +
                      ",56,56]\n%y = conv2d(%x, weight f32[" + c + "," +
                      std::to_string(channels / groups) +
                      ",3,3]) {padding=[1,1], groups=" +
                      std::to_string(groups) + "} : f32[16," + c + ",56,56]\n")
      .nodes.at(0)
      .gpu_us;
}

TEST(EstimateCost, GetsLessOutOfGroupedConvolutions) {
  const double dense = ConvolutionUs(1, 256);
  const double grouped = ConvolutionUs(32, 256);
  EXPECT_GT(grouped, dense / 32 * 4);
  EXPECT_LT(ConvolutionUs(256, 256), dense);
}

TEST(EstimateCost, CountsBothPassesOfABackwardConvolution) {
  const CostEstimate cost = EstimateText(R"(graph "g" mode=training
%x = input f32[32,256,32,32]
%w = parameter f32[256,256,3,3]
%y = conv2d(%x, %w) {padding=[1,1]} : f32[32,256,32,32]
phase backward
%dx, %dw = convolution_backward(%y, %x, %w) {padding=[1,1], output_mask=[1,1,0]} : f32[32,256,32,32], f32[256,256,3,3]
)");
  // What a pass reads and writes but the weight is read and written once more,
  // for 0.7 of all images, at 0.8 of the bandwidth.
  const double copies_us = 0.7 * 2 * (2 * 33'554'432.0) / 1e6 / 0.8;
  const double weight_us = 0.7 * 2 * 2'359'296.0 / 1e6 / 0.8;
  const auto product_us = [](double m, double n, double k,
                             bool divides = false) {
    const DeviceSpec device = test::RoundDevice();
    return cost::GemmUs(
        {.batch = 1, .m = m, .n = n, .k = k, .divides = divides},
        cost::MatrixUnit::kTensorConvolution, 1e8,
        cost::MakeMachine(device, {}));
  };
  EXPECT_NEAR(cost.nodes[0].gpu_us,
              kProductUs + copies_us + product_us(32'768, 256, 2304), 1e-6);
  EXPECT_NEAR(cost.nodes[1].gpu_us,
              2 * kProductUs + product_us(32'768, 256, 2304) +
                  product_us(256, 2304, 32'768, /*divides=*/true) +
                  2 * copies_us + weight_us,
              1e-6);
  EXPECT_DOUBLE_EQ(cost.nodes[1].flops, 2 * cost.nodes[0].flops);
}

double AttentionUs(const std::string& attributes) {
  return EstimateText(
             "graph \"a\"\n%q = input f16[8,16,1024,64]\n%y = "
             "scaled_dot_product_attention(%q, %q, %q)" +
             attributes + " : f16[8,16,1024,64]\n")
      .nodes.at(0)
      .gpu_us;
}

/// Launching fused attention.
constexpr double kAttentionUs = 3 + 5;

TEST(EstimateCost, SpendsAttentionsTimeByItsKeysAndOccupancy) {
  // 131,072 queries in 1,024 blocks: 11 waves on 100 SMs.
  const double flops = 4.0 * 8 * 16 * 1024 * 1024 * 64;
  const double efficiency = 0.55 * 1024 / (1024 + 60) * 1024 / 1100;
  EXPECT_NEAR(AttentionUs(""), kAttentionUs + flops / 2e8 / efficiency, 1e-6);
}

TEST(EstimateCost, ReadsKeysUpToTheDiagonalInCausalAttention) {
  // A block of 128 queries reads 576 of 1,024 keys in the mean.
  const double full = (AttentionUs("") - kAttentionUs) * 1024 / (1024 + 60);
  EXPECT_NEAR(AttentionUs(" {is_causal=true}") - kAttentionUs,
              full * 576 / 1024 * (576 + 60) / 576, 1e-6);
}

TEST(EstimateCost, MakesRecurrentStepsWaitForEachOther) {
  const auto us = [](const std::string& steps) {
    return EstimateText("graph \"r\"\n%x = input f32[" + steps +
                        ",1,256]\n%h = input f32[1,1,256]\n"
                        "%w = weight f32[768,256]\n%y = gru(%x, %h, %w, %w) : "
                        "f32[" +
                        steps +
                        ",1,256]\n"
                        "| %s = inner f32[1,256]\n"
                        "| %p = linear(%s, %w) {times=" +
                        steps +
                        "} : f32[1,768]\n"
                        "| %n = _thnn_fused_gru_cell(%p, %s) {times=" +
                        steps + "} : f32[1,256]\n")
        .nodes.at(0)
        .gpu_us;
  };
  // A step launches a product, which reads 786 KB of weights after a start of
  // 0.5 us or takes as long as a tile of tensor cores, and its gates.
  const double step_us = 2 * 2.5 + 0.5 + 4.0 * 768 * 256 / 1e6 / 0.74;
  EXPECT_NEAR((us("100") - us("50")) / 50, step_us, 1);
}

TEST(EstimateCost, AddsTheEnergyOfKernelsAndOfWaitingUp) {
  const CostEstimate cost = EstimateText(ReluChain(1, kHundredUs));
  const double busy_w = 50 + 200 * (0.27 + 0.34 * 100 / 103);
  const double waiting_w = 50 + 200 * 0.05;
  EXPECT_NEAR(cost.nodes[0].energy_j, busy_w * 103e-6, 1e-9);
  EXPECT_NEAR(cost.waiting_ms, 0.006, 1e-9);
  EXPECT_NEAR(cost.energy_j, busy_w * 103e-6 + waiting_w * 6e-6, 1e-9);
  EXPECT_NEAR(cost.static_energy_j, 50 * 109e-6, 1e-9);
  EXPECT_NEAR(cost.average_power_w, cost.energy_j / 109e-6, 1e-6);
}

TEST(EstimateCost, StaysBetweenIdlePowerAndTheLimit) {
  for (const std::string& text : {ReluChain(10, 1), ReluChain(5, kHundredUs)}) {
    const CostEstimate cost = EstimateText(text);
    EXPECT_GT(cost.average_power_w, 50);
    EXPECT_LE(cost.average_power_w, 250);
  }
}

TEST(EstimateCost, DoublesTheEnergyOfABusyGpuWithItsWork) {
  const double once = EstimateText(ReluChain(4, 2 * kHundredUs)).energy_j;
  const double twice = EstimateText(ReluChain(4, 4 * kHundredUs)).energy_j;
  EXPECT_NEAR(twice / once, 2, 0.02);
}

TEST(EstimateCost, DrawsLittleMoreThanIdlePowerWhileTheHostIsSlow) {
  const CostEstimate cost =
      EstimateText(ReluChain(10, 1), {.host_factor = 100});
  EXPECT_GT(cost.average_power_w, 60);
  EXPECT_LT(cost.average_power_w, 61);
}

const char* const kMixed = R"(graph "mixed"
%x = input f32[8,64,56,56]
%a = conv2d(%x, weight f32[64,64,3,3]) {padding=[1,1]} : f32[8,64,56,56]
%b = relu(%a) : f32[8,64,56,56]
%c = conv2d(%b, weight f32[64,1,3,3]) {padding=[1,1], groups=64} : f32[8,64,56,56]
%d = mean(%c) : f32[8,64]
%e = linear(%d, weight f32[1000,64]) : f32[8,1000]
%f = softmax(%e) : f32[8,1000]
output %f
)";

TEST(EstimateCost, DividesTheLatencyIntoItsThreeParts) {
  const CostEstimate cost = EstimateText(kMixed);
  EXPECT_NEAR(cost.compute_ms + cost.memory_ms + cost.overhead_ms,
              cost.latency_ms, 1e-12);
  EXPECT_GE(cost.latency_ms, cost.gpu_ms);
  EXPECT_GE(cost.latency_ms, cost.dispatch_ms);
}

TEST(EstimateCost, NeverGetsSlowerWithMoreSmsOrBandwidth) {
  double previous = EstimateText(kMixed, {.sms = 1}).latency_ms;
  for (int sms = 2; sms <= 100; ++sms) {
    const double now = EstimateText(kMixed, {.sms = sms}).latency_ms;
    EXPECT_LE(now, previous * (1 + 1e-12)) << sms;
    previous = now;
  }
  EXPECT_LT(previous, EstimateText(kMixed, {.sms = 1}).latency_ms);
  EXPECT_GT(EstimateText(kMixed, {.bandwidth_fraction = 0.125}).latency_ms,
            EstimateText(kMixed, {.bandwidth_fraction = 1}).latency_ms);
}

TEST(EstimateCost, NeverGetsFasterOrCheaperWithTheBatch) {
  double latency_ms = 0;
  double energy_j = 0;
  for (const int batch : {1, 2, 3, 8, 31, 64, 200}) {
    const std::string type = "f32[" + std::to_string(batch) + ",64,28,28]";
    const CostEstimate cost = EstimateText(
        "graph \"b\"\n%x = input " + type +
        "\n%a = conv2d(%x, weight f32[64,64,3,3]) {padding=[1,1]} : " + type +
        "\n%b = relu(%a) : " + type + "\n");
    EXPECT_GE(cost.latency_ms, latency_ms);
    EXPECT_GT(cost.energy_j, energy_j);
    latency_ms = cost.latency_ms;
    energy_j = cost.energy_j;
  }
}

TEST(EstimateCost, ScalesTheDispatch) {
  const CostEstimate once = EstimateText(ReluChain(10, 1));
  const CostEstimate twice = EstimateText(ReluChain(10, 1), {.host_factor = 2});
  EXPECT_NEAR(twice.dispatch_ms, 2 * once.dispatch_ms, 1e-12);
  EXPECT_NEAR(twice.latency_ms, once.latency_ms + once.dispatch_ms, 1e-9);
}

TEST(EstimateCost, ChargesTheForwardPassOfTrainingForRecordingItself) {
  std::string text = ReluChain(1, 1);
  text.replace(text.find('\n'), 0, " mode=training");
  EXPECT_DOUBLE_EQ(EstimateText(text).nodes[0].dispatch_us, 6.55);
}

TEST(EstimateCost, ChargesInferenceInGradModeForRecordingItself) {
  const std::string plain = ReluChain(1, 1);
  std::string text = plain;
  text.replace(text.find('\n'), 0, " grad=on");
  EXPECT_DOUBLE_EQ(EstimateText(plain).nodes[0].dispatch_us, 6);
  EXPECT_DOUBLE_EQ(EstimateText(text).nodes[0].dispatch_us, 6.55);
  EXPECT_DOUBLE_EQ(EstimateText(text).nodes[0].gpu_us,
                   EstimateText(plain).nodes[0].gpu_us);
}

TEST(EstimateCost, OfAnEmptyGraphIsZero) {
  const CostEstimate cost = EstimateText("graph \"empty\"\n");
  EXPECT_EQ(cost.latency_ms, 0);
  EXPECT_EQ(cost.energy_j, 0);
  EXPECT_EQ(cost.average_power_w, 0);
}

TEST(EstimateCost, TakesTensorsWithoutElements) {
  const CostEstimate cost = EstimateText(R"(graph "none"
%x = input f32[0,64,8,8]
%a = conv2d(%x, weight f32[64,64,3,3]) {padding=[1,1]} : f32[0,64,8,8]
%q = input f32[2,0,4]
%b = matmul(%q, %q) : f32[2,0,0]
)");
  EXPECT_TRUE(std::isfinite(cost.latency_ms));
  EXPECT_TRUE(std::isfinite(cost.energy_j));
}

// 0.86 of the peak is what an A100 reaches; a measured rate stands for a peak
// of which the device reaches as much.
TEST(EstimateCost, TakesMeasuredRatesForThePeak) {
  const OperatorGraph graph = ParseGraph(kMixed);
  const DeviceSpec device = test::RoundDevice();
  const double at_peak = EstimateCost(graph, device, {}).gpu_ms;
  DeviceSpec measured = device;
  for (const auto& [precision, peak] : device.peak_tflops) {
    measured.matmul_tflops[precision] = 0.86 * peak;
  }
  EXPECT_DOUBLE_EQ(EstimateCost(graph, measured, {}).gpu_ms, at_peak);
  for (auto& [precision, rate] : measured.matmul_tflops) rate /= 10;
  EXPECT_GT(EstimateCost(graph, measured, {}).gpu_ms, at_peak);
}

void ExpectRefused(const DeviceSpec& device, const CostOptions& options,
                   const std::string& message) {
  try {
    EstimateCost(ParseGraph(kMixed), device, options);
    FAIL() << "accepted; expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), testing::HasSubstr(message));
  }
}

TEST(EstimateCost, RefusesWhatItCannotCompute) {
  const DeviceSpec device = test::RoundDevice();
  ExpectRefused(device, {.sms = 101}, "sms is 101, expected 0 to 100");
  ExpectRefused(device, {.sms = -1}, "sms is -1");
  ExpectRefused(device, {.bandwidth_fraction = 0}, "bandwidth_fraction is 0");
  ExpectRefused(device, {.bandwidth_fraction = 1.5}, "at most 1");
  ExpectRefused(device, {.host_factor = -1}, "host_factor is -1");
  DeviceSpec no_rate = device;
  no_rate.peak_tflops.erase(Precision::kTf32);
  ExpectRefused(no_rate, {}, "device round: no peak rate for tf32");
  DeviceSpec no_sms = device;
  no_sms.sms = 0;
  ExpectRefused(no_sms, {}, "no multiprocessors");
}

TEST(EstimateCost, LaunchesRepeatedKernelsAsFastFromPython) {
  const auto dispatch_ms = [](int images, Host host) {
    const std::string batch = std::to_string(images);
    return EstimateText("graph \"volumes\"\n%x = input f16[" + batch +
                            ",4,6,6,6]\n%y = conv3d(%x, weight " +
                            "f16[8,4,3,3,3], weight f16[8]) " +
                            "{padding=[1,1,1]} : f16[" + batch + ",8,6,6,6]\n",
                        {.run = {.host = host}})
        .dispatch_ms;
  };
  // Eight fills, columns and a product more, each of 4 us.
  for (const Host host : {Host::kCpp, Host::kPython}) {
    EXPECT_NEAR(dispatch_ms(2, host) - dispatch_ms(1, host), 0.040, 1e-9);
  }
  EXPECT_NEAR(dispatch_ms(1, Host::kCpp), 0.020 + 0.008 + 7 * 0.004, 1e-9);
  EXPECT_NEAR(dispatch_ms(1, Host::kPython), 2.8 * 0.028 + 7 * 0.004, 1e-9);
}

TEST(EstimateCost, TakesTheBandwidthThatWasMeasured) {
  DeviceSpec device = test::RoundDevice();
  const OperatorGraph graph = ParseGraph(R"(graph
%y = relu(input f32[4096,4096]) : f32[4096,4096]
output %y
)");
  const double at_peak = EstimateCost(graph, device, {}).gpu_ms;
  device.reached_bandwidth_gb_s = 0.87 * 1000;  // The share of an A100.
  EXPECT_NEAR(EstimateCost(graph, device, {}).gpu_ms, at_peak, 1e-9);
  device.reached_bandwidth_gb_s /= 2;
  EXPECT_NEAR(EstimateCost(graph, device, {}).gpu_ms, 2 * at_peak - 0.003,
              1e-9);
}

/// 25.2 MB at 0.8 of PCIe 4.0, 31.5 GB/s, each way, and twice as much at 51.2
/// GB/s on the host; what comes after waits.
TEST(EstimateCost, WaitsForOperatorsOfTheHost) {
  const CostEstimate cost = EstimateText(
      "graph \"g\" runtime=\"onnxruntime\"\n"
      "%x = input f32[6300000]\n"
      "%0 = offload::to_host(%x) : f32[6300000]\n"
      "%1 = offload::run(%0) {operator=\"Tan\"} : f32[6300000]\n"
      "%2 = offload::from_host(%1) : f32[6300000]\n"
      "%3 = relu(%2) : f32[6300000]\n"
      "output %3\n");
  EXPECT_DOUBLE_EQ(cost.nodes.at(0).link_us, 1000);
  EXPECT_DOUBLE_EQ(cost.nodes.at(1).link_us, 984.375);
  EXPECT_DOUBLE_EQ(cost.nodes.at(2).link_us, 1000);
  EXPECT_GT(cost.latency_ms, 2.984);
}

}  // namespace
}  // namespace foretell
