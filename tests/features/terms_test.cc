#include "src/features/terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "foretell/cost.h"
#include "foretell/graph_io.h"
#include "src/cost/machine.h"

namespace foretell::learned {
namespace {

const DeviceSpec& TermsDevice() {
  return DeviceCatalog::BuiltIn().FindDevice("a100-sxm4-40gb");
}

double AmountOf(const TermTable& table, std::int32_t wanted) {
  double sum = 0;
  for (std::size_t i = 0; i < table.num_terms(); ++i) {
    if (table.classes[i] == wanted) sum += table.amounts[i];
  }
  return sum;
}

TEST(KernelTerms, AreTheRooflinesOfKernelsAndTheirLaunches) {
  // Two equal ReLUs of 64 MiB, one tiny one, which is all launch.
  const OperatorGraph graph = ParseGraph(R"(graph "g"
%x = input f32[4096,4096]
%a = relu(%x) : f32[4096,4096]
%b = relu(%a) : f32[4096,4096]
%s = input f32[8]
%t = relu(%s) : f32[8]
)");
  const TermTable table = KernelTerms(graph, {TermsDevice(), {}, {}});
  ASSERT_EQ(table.num_terms(), 3);
  const double bytes_per_ms =
      cost::MakeMachine(TermsDevice(), {}).bytes_per_us * 1000;
  const double moved = 2 * 2 * 4096.0 * 4096.0 * 4.0;
  EXPECT_NEAR(
      AmountOf(table, static_cast<std::int32_t>(cost::KernelClass::kRelu)),
      moved / bytes_per_ms / 0.6, 1e-6);
  EXPECT_NEAR(AmountOf(table, kLaunchClass), 3 * 3e-3, 1e-7);
  EXPECT_NEAR(AmountOf(table, kStepClass), 0.05, 1e-7);
  ASSERT_EQ(table.totals.size(), kKernelTotals.size());
  EXPECT_NEAR(table.totals[0], std::log2(1 + 3.0) / 20 - 1, 1e-6);
}

TEST(KernelTerms, AreTimesOfTheCostModelWhereTheyHaveToCarryOver) {
  const OperatorGraph graph = ParseGraph(R"(graph "g"
%x = input f32[4096,4096]
%a = relu(%x) : f32[4096,4096]
)");
  const double us = 2 * 4096.0 * 4096.0 * 4.0 / 0.87 /
                    cost::MakeMachine(TermsDevice(), {}).bytes_per_us;
  for (const auto terms : {&PortableKernelTerms, &KernelGraphTerms}) {
    EXPECT_NEAR(AmountOf(terms(graph, {TermsDevice(), {}, {}}),
                         static_cast<std::int32_t>(cost::KernelClass::kRelu)),
                us / 1000, 1e-6);
  }
}

TEST(KernelTerms, PutSerialThreadsBesideTheirBytes) {
  const OperatorGraph graph = ParseGraph(R"(graph "g"
%x = input f16[1024,256,7,7]
%y = upsample_bilinear2d(%x) : f16[1024,256,14,14]
)");
  const TermTable table = KernelTerms(graph, {TermsDevice(), {}, {}});
  const double bytes = 2.0 * 1024 * 256 * (49 + 196);
  const double memory_us =
      bytes / cost::MakeMachine(TermsDevice(), {}).bytes_per_us;
  EXPECT_NEAR(
      AmountOf(table, static_cast<std::int32_t>(cost::KernelClass::kUpsample)),
      memory_us / 1000 / 0.6, 1e-5);
  EXPECT_NEAR(AmountOf(table, kSerialClass),
              (0.3 * 1024 * 256 - memory_us) / 1000, 1e-3);
}

TEST(KernelTerms, FollowTheModeOfExecution) {
  const OperatorGraph graph = ParseGraph(R"(graph "g" precision=fp16
%x = input f16[1024,64]
%y = linear(%x, parameter f16[64,64], parameter f16[64]) : f16[1024,64]
)");
  // The bias, copied to every row before the product is added to it.
  const auto copies = [&graph](const TorchVersion& torch) {
    return AmountOf(KernelTerms(graph, {TermsDevice(), {.torch = torch}, {}}),
                    static_cast<std::int32_t>(cost::KernelClass::kCopy));
  };
  EXPECT_EQ(copies({.major = 1, .minor = 13}), 0);
  EXPECT_GT(copies({.major = 1, .minor = 12}), 0);
}

// Measured rates take a device's place among others, so only the network for
// devices that were not learned from reads them.
TEST(KernelTerms, TakeMeasuredRatesWhereTheyHaveToCarryOver) {
  const OperatorGraph graph = ParseGraph(R"(graph "g" precision=fp16
%x = input f16[4096,4096]
%y = linear(%x, weight f16[4096,4096]) : f16[4096,4096]
)");
  DeviceSpec half = TermsDevice();
  half.matmul_tflops[Precision::kFp16] = 0.86 * 312 / 2;
  const auto amount = [&graph](const DeviceSpec& device, bool portable) {
    const TermContext context{device, {}, {}};
    return AmountOf(portable ? PortableKernelTerms(graph, context)
                             : KernelTerms(graph, context),
                    static_cast<std::int32_t>(cost::KernelClass::kLinear));
  };
  EXPECT_EQ(amount(half, false), amount(TermsDevice(), false));
  EXPECT_GT(amount(half, true), 1.9 * amount(TermsDevice(), true));
}

TEST(StepKernelTerms, AreKernelsOfAllPhasesAndTheWaitForTheHost) {
  const OperatorGraph graph = ParseGraph(R"(graph "g" mode=training batch=4096
%x = input f32[4096,4096]
%a = relu(%x) : f32[4096,4096]
phase backward
%g = relu(%a) : f32[4096,4096] gradient
)");
  const TermContext context{TermsDevice(), {.mode = Mode::kTraining}, {}};
  const TermTable step = StepKernelTerms(graph, context);
  const auto relu = static_cast<std::int32_t>(cost::KernelClass::kRelu);
  EXPECT_NEAR(AmountOf(step, relu),
              2 * AmountOf(KernelGraphTerms(graph, context), relu), 1e-6);
  EXPECT_EQ(step.sources, (std::vector<std::int64_t>{0}));
  const CostEstimate estimate =
      EstimateCost(graph, TermsDevice(), {.run = context.run});
  EXPECT_GT(estimate.waiting_ms, 0);
  EXPECT_NEAR(AmountOf(step, kWaitClass), estimate.waiting_ms, 1e-5);
  EXPECT_NEAR(std::accumulate(step.amounts.begin(), step.amounts.end(), 0.0),
              estimate.latency_ms, 1e-5);
}

TEST(RawKernelTerms, AreVolumesThatNoDeviceChanges) {
  const OperatorGraph graph = ParseGraph(R"(graph "g" mode=training batch=4096
%x = input f32[4096,4096]
%y = linear(%x, weight f32[4096,4096]) : f32[4096,4096]
phase backward
%g = relu(%y) : f32[4096,4096] gradient
)");
  const foretell::Run run{.mode = Mode::kTraining};
  const TermTable here = RawKernelTerms(graph, {TermsDevice(), run, {}});
  DeviceSpec other = TermsDevice();
  other.bandwidth_gb_s *= 2;
  EXPECT_EQ(here.amounts, RawKernelTerms(graph, {other, run, {}}).amounts);
  const double bytes = 4096.0 * 4096.0 * 4.0;
  EXPECT_NEAR(
      AmountOf(here, static_cast<std::int32_t>(cost::KernelClass::kRelu)),
      2 * bytes / 1e6 / 1000, 1e-6);
  EXPECT_NEAR(
      AmountOf(here, static_cast<std::int32_t>(cost::KernelClass::kLinear)),
      (3 * bytes / 1e6 + 4096.0 * 4096.0 * 4096.0 / 5e7) / 1000, 1e-5);
  EXPECT_EQ(here.sources, (std::vector<std::int64_t>{0}));
  // The feature that is the cost model's time is hidden, those of the device
  // are not.
  const auto feature = [&here](std::string_view name) {
    const auto* slot = std::ranges::find(cost::kKernelFeatures, name,
                                         &cost::KernelFeature::name);
    return here.features[static_cast<std::size_t>(
        slot - cost::kKernelFeatures.begin())];
  };
  EXPECT_EQ(feature("work"), 0);
  EXPECT_NE(feature("bandwidth"), 0);
}

TEST(ReplayTerms, GiveCachedSegmentsBackOnAFullDevice) {
  // 40 MiB die before 60 MiB are born.
  const OperatorGraph graph = ParseGraph(R"(graph "phases"
%x = input f32[16]
%a = relu(%x) : f32[10485760]
%s = sum(%a) : f32[]
%b = expand_copy(%s) : f32[15728640]
output %b
)");
  const ContextModel context{.name = "e", .context_mib = {{"*", 500}}};
  const auto reserved = [&](std::int64_t usable_mib) {
    DeviceSpec device = TermsDevice();
    device.usable_mib = usable_mib;
    return AmountOf(ReplayTerms(graph, {device, {}, context}),
                    static_cast<std::int32_t>(ReplayClass::kReserved));
  };
  EXPECT_EQ(reserved(500 + 103), 102);
  EXPECT_EQ(reserved(500 + 101), 62);
  // Where even that does not fit, what it would take.
  EXPECT_EQ(reserved(500 + 61), 102);
}

TEST(ReplayTerms, AreSegmentsContextParametersAndInputs) {
  // 16 MiB each of input, weight, result and gradient.
  const OperatorGraph graph = ParseGraph(R"(graph "g" mode=training batch=2048
%x = input f32[2048,2048]
%w = parameter f32[2048,2048]
%y = mul(%x, %w) : f32[2048,2048]
phase backward
%g = mul(%x, %y) : f32[2048,2048] gradient
)");
  const ContextModel context{.name = "e", .context_mib = {{"*", 500}}};
  const TermTable table = ReplayTerms(graph, {TermsDevice(), {}, context});
  const auto amount = [&table](ReplayClass wanted) {
    return AmountOf(table, static_cast<std::int32_t>(wanted));
  };
  EXPECT_EQ(amount(ReplayClass::kReserved), 64);
  EXPECT_EQ(amount(ReplayClass::kContext), 500);
  EXPECT_NEAR(amount(ReplayClass::kParameters), 1.36 * 16, 1e-5);
  EXPECT_NEAR(amount(ReplayClass::kInputs), 3.9 * 16, 1e-5);
  EXPECT_EQ(table.totals.size(), static_cast<std::size_t>(kNumReplayTotals));
  for (const float total : table.totals) EXPECT_TRUE(std::isfinite(total));
}

}  // namespace
}  // namespace foretell::learned
