#include "src/answer/slices.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "foretell/predictor.h"

namespace foretell {
namespace {

const DeviceSpec& Sliced() {
  return DeviceCatalog::BuiltIn().FindDevice("a100");
}

/// The ratios of the step in `text`, on the profiles of `device`.
std::vector<SliceRatio> SlicesOf(const std::string& text,
                                 const DeviceSpec& device,
                                 const CostOptions& options = {}) {
  const OperatorGraph graph = ParseGraph(text);
  return CompareSlices(cost::LaunchStep(graph, options), device, options,
                       EstimateCost(graph, device, options));
}

SliceRatio On(const std::vector<SliceRatio>& slices,
              const std::string& profile) {
  for (const SliceRatio& slice : slices) {
    if (slice.profile == profile) return slice;
  }
  ADD_FAILURE() << profile;
  return {};
}

/// Many waves of tiles on any slice.
constexpr char kProduct[] = R"(graph "product"
%x = input f16[8192,8192]
%y = linear(%x, weight f16[8192,8192]) : f16[8192,8192]
output %y
)";

constexpr char kTraffic[] = R"(graph "traffic"
%x = input f32[268435456]
%y = relu(%x) : f32[268435456]
output %y
)";

constexpr char kTiny[] = R"(graph "tiny"
%x = input f32[16]
%a = relu(%x) : f32[16]
%b = relu(%a) : f32[16]
output %b
)";

constexpr char kBlock[] = R"(graph "block"
%x = input f32[8,64,56,56]
%a = conv2d(%x, weight f32[64,64,3,3]) {padding=[1,1]} : f32[8,64,56,56]
%b = relu(%a) : f32[8,64,56,56]
%c = mean(%b) : f32[8,64]
%d = linear(%c, weight f32[1000,64]) : f32[8,1000]
output %d
)";

TEST(CompareSlices, EstimatesEachProfileAsAMachineOfItsOwn) {
  const OperatorGraph graph = ParseGraph(kBlock);
  const CostOptions python{.run = {.host = Host::kPython}};
  const CostEstimate whole = EstimateCost(graph, Sliced(), python);
  const std::vector<SliceRatio> slices =
      CompareSlices(cost::LaunchStep(graph, python), Sliced(), python, whole);
  ASSERT_EQ(slices.size(), Sliced().mig_profiles.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const MigProfile& profile = Sliced().mig_profiles[i];
    const CostEstimate slice =
        EstimateCost(graph, Sliced(),
                     {.sms = profile.sms,
                      .bandwidth_fraction = profile.bandwidth_fraction,
                      .run = {.host = Host::kPython}});
    EXPECT_EQ(slices[i].profile, profile.name);
    EXPECT_DOUBLE_EQ(slices[i].latency * whole.latency_ms, slice.latency_ms);
    EXPECT_DOUBLE_EQ(slices[i].energy * whole.energy_j, slice.energy_j);
  }
}

TEST(CompareSlices, SlowsArithmeticByTheSms) {
  const std::vector<SliceRatio> slices = SlicesOf(kProduct, Sliced());
  // Within the waves of tiles, which no two numbers of SMs fill alike.
  EXPECT_NEAR(On(slices, "1g.5gb").latency, 108.0 / 14, 0.4);
  EXPECT_NEAR(On(slices, "2g.10gb").latency, 108.0 / 28, 0.2);
  // MIG mode leaves 98 of 108 SMs even to the largest profile.
  EXPECT_NEAR(On(slices, "7g.40gb").latency, 108.0 / 98, 0.06);
}

TEST(CompareSlices, SlowsTrafficByTheShareOfTheBandwidth) {
  const std::vector<SliceRatio> slices = SlicesOf(kTraffic, Sliced());
  EXPECT_NEAR(On(slices, "1g.5gb").latency, 8, 0.1);
  EXPECT_NEAR(On(slices, "1g.10gb").latency, 4, 0.05);
  EXPECT_NEAR(On(slices, "3g.20gb").latency, 2, 0.02);
  EXPECT_NEAR(On(slices, "7g.40gb").latency, 1, 1e-9);
}

TEST(CompareSlices, ChargesTrafficToTheMemorysShare) {
  const std::vector<SliceRatio> slices = SlicesOf(kTraffic, Sliced());
  // The same bytes take half as long on twice the bandwidth, at more than half
  // of the power: what the multiprocessors draw meanwhile is saved.
  const double once = On(slices, "1g.5gb").energy;
  const double twice = On(slices, "1g.10gb").energy;
  EXPECT_LT(twice, once);
  EXPECT_GT(twice, 0.7 * once);
}

TEST(CompareSlices, LeavesTheTimeOfTheHostAlone) {
  const std::vector<SliceRatio> slices = SlicesOf(kTiny, Sliced());
  for (const SliceRatio& slice : slices) EXPECT_NEAR(slice.latency, 1, 1e-3);
  // A slice answers for its share of the idle board.
  EXPECT_NEAR(On(slices, "1g.5gb").energy, 14.0 / 108, 1e-3);
}

TEST(CompareSlices, SeesAKernelOutgrowTheHost) {
  // On the device the host is the slower of both, on a slice the kernels are:
  // no share of the whole latency says so.
  const std::string text = R"(graph "hidden"
%x = input f32[1048576]
%a = relu(%x) : f32[1048576]
%b = relu(%a) : f32[1048576]
%c = relu(%b) : f32[1048576]
output %c
)";
  const OperatorGraph graph = ParseGraph(text);
  const CostOptions python{.run = {.host = Host::kPython}};
  const CostEstimate whole = EstimateCost(graph, Sliced(), python);
  EXPECT_GT(whole.dispatch_ms, whole.gpu_ms);
  const SliceRatio slice = On(
      CompareSlices(cost::LaunchStep(graph, python), Sliced(), python, whole),
      "1g.5gb");
  EXPECT_GT(slice.latency * whole.latency_ms, 3 * whole.dispatch_ms / 2);
}

TEST(CompareSlices, GivesTwinsTheSameFigures) {
  const std::vector<SliceRatio> slices = SlicesOf(kBlock, Sliced());
  EXPECT_EQ(On(slices, "1g.5gb").latency, On(slices, "1g.5gb+me").latency);
  EXPECT_EQ(On(slices, "1g.5gb").energy, On(slices, "1g.5gb+me").energy);
}

TEST(CompareSlices, NeverPromisesASliceFasterThanTheDevice) {
  for (const DeviceSpec& device : DeviceCatalog::BuiltIn().devices()) {
    for (const char* text : {kProduct, kTraffic, kTiny, kBlock}) {
      for (const SliceRatio& slice : SlicesOf(text, device)) {
        EXPECT_GE(slice.latency, 1 - 1e-9) << device.name << slice.profile;
      }
    }
  }
}

TEST(CompareSlices, LeavesAnEmptyStepEmpty) {
  for (const SliceRatio& slice : SlicesOf("graph \"empty\"\n", Sliced())) {
    EXPECT_EQ(slice.latency, 1);
    EXPECT_EQ(slice.energy, 1);
  }
}

TEST(Predictor, ComparesTheProfilesUnlessToldNotTo) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const auto slices = [&](const std::string& device, bool with_slices) {
    return Predictor::Analytic(catalog.FindDevice(device), foretell::Run{},
                               {.with_slices = with_slices})
        .Predict(ParseGraph(kBlock))
        .slices;
  };
  EXPECT_EQ(slices("a100", true).size(), Sliced().mig_profiles.size());
  EXPECT_TRUE(slices("a100", false).empty());
  EXPECT_TRUE(slices("rtx-3090", true).empty());
}

}  // namespace
}  // namespace foretell
