#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "foretell/device.h"
#include "foretell/error.h"

namespace foretell {
namespace {

using testing::HasSubstr;

constexpr char kSmallDevice[] = R"({
  "name": "toy", "aliases": ["tiny"], "display_name": "Toy GPU",
  "architecture": "ampere", "compute_capability": 86, "sms": 10,
  "memory_mib": 1000, "bandwidth_gb_s": 100, "l2_mib": 1,
  "peak_tflops": {"fp32": 1, "tf32": 2, "fp16": 4, "bf16": 4},
  "max_power_w": 50, "idle_power_w": 5, "cublas_workspace_bytes": 0,
  "sources": ["made up"]})";

template <typename Function>
std::string MessageOf(Function function, ErrorCode code) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(DeviceCatalog, KnowsTheCardsThatPeopleOwn) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  EXPECT_GE(catalog.devices().size(), 52u);
  EXPECT_EQ(catalog.devices().front().name, "a100-sxm4-40gb");
}

TEST(DeviceCatalog, FindsByNameAliasAndDisplayNameInAnyCase) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  for (const char* name : {"a100-sxm4-40gb", "A100-SXM4-40GB", "a100", "A100",
                           "nvidia a100-sxm4-40gb"}) {
    EXPECT_EQ(catalog.FindDevice(name).name, "a100-sxm4-40gb") << name;
  }
  EXPECT_EQ(catalog.FindDevice("h100").name, "h100-sxm5-80gb");
  EXPECT_EQ(catalog.FindDevice("NVIDIA H200").name, "h200-sxm-141gb");
}

TEST(DeviceCatalog, FindsNamesAsPeopleWriteThem) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const std::pair<const char*, const char*> names[] = {
      {"RTX 4090", "rtx-4090"},
      {"4090", "rtx-4090"},
      {"NVIDIA GeForce RTX 4090", "rtx-4090"},
      {"rtx_3090", "rtx-3090"},
      {"3090", "rtx-3090"},
      {"a100_80", "a100-sxm4-80gb"},
      {"A100 80GB", "a100-sxm4-80gb"},
      {"A100 80G", "a100-sxm4-80gb"},
      {"A100-80GB-PCIe", "a100-pcie-80gb"},
      {"A100 PCIe 40GB", "a100-pcie-40gb"},
      {"A100-80GB-SXM4", "a100-sxm4-80gb"},
      {"H100 SXM", "h100-sxm5-80gb"},
      {"H100 SXM5", "h100-sxm5-80gb"},
      {"NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"},
      {"V100", "v100-pcie-32gb"},
      {"V100-SXM2-16GB", "v100-sxm2-16gb"},
      {"Tesla V100-SXM2-16GB", "v100-sxm2-16gb"},
      {"Tesla V100-PCIE-32GB", "v100-pcie-32gb"},
      {"3080", "rtx-3080-10gb"},
      {"RTX 3080 12GB", "rtx-3080-12gb"},
      {"NVIDIA GeForce RTX 3080 Ti", "rtx-3080-ti"},
      {"4080 super", "rtx-4080-super"},
      {"RTX4080S", "rtx-4080-super"},
      {"4060 ti", "rtx-4060-ti-16gb"},
      {"1080 Ti", "gtx-1080-ti"},
      {"2080ti", "rtx-2080-ti"},
      {"Tesla T4", "t4"},
      {"A6000", "rtx-a6000"},
      {"RTX 6000 Ada Generation", "rtx-6000-ada"},
      {"Quadro RTX 6000", "quadro-rtx-6000"},
      {"PRO 6000", "rtx-pro-6000-workstation"},
      {"NVIDIA A10G", "a10g"},
      {"NVIDIA L40S", "l40s"},
      {"NVIDIA GH200 120GB", "gh200-96gb"},
      {"GB10", "dgx-spark"},
      {"DGX Spark", "dgx-spark"},
      {"Orin", "jetson-agx-orin-64gb"},
      {"NVIDIA Thor", "jetson-thor-128gb"}};
  for (const auto& [written, meant] : names) {
    EXPECT_EQ(catalog.FindDevice(written).name, meant) << written;
  }
}

TEST(DeviceCatalog, AnswersNullForAnUnknownDevice) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  EXPECT_EQ(catalog.DeviceNamed("A100"), &catalog.FindDevice("a100"));
  EXPECT_EQ(catalog.DeviceNamed("a11"), nullptr);
  EXPECT_EQ(catalog.DeviceNamed(""), nullptr);
}

TEST(DeviceCatalog, NamesTheNearestForAnUnknownDevice) {
  const std::string message =
      MessageOf([] { DeviceCatalog::BuiltIn().FindDevice("RTX 3095"); },
                ErrorCode::kNotFound);
  EXPECT_THAT(message, HasSubstr("device 'RTX 3095' is unknown; near: "));
  EXPECT_THAT(message, HasSubstr("rtx-3090"));
  EXPECT_THAT(message, HasSubstr("add one with --device-file"));
  const std::string typo =
      MessageOf([] { DeviceCatalog::BuiltIn().FindDevice("A101"); },
                ErrorCode::kNotFound);
  EXPECT_THAT(typo, HasSubstr("a100-sxm4-40gb"));
}

TEST(DeviceCatalog, SuggestsNoGpuForAnotherVendorsName) {
  for (const std::string name :
       {"MI300X", "mi300", "AMD Instinct MI250", "gaudi", "tpu-v4"}) {
    EXPECT_EQ(MessageOf([&] { DeviceCatalog::BuiltIn().FindDevice(name); },
                        ErrorCode::kNotFound),
              "device '" + name +
                  "' is unknown; only NVIDIA GPUs are modelled; list all with "
                  "`foretell devices`, add one with --device-file");
  }
}

TEST(DeviceCatalog, DoesNotTakeAPrefixForAName) {
  EXPECT_THROW(DeviceCatalog::BuiltIn().FindDevice(""), Error);
  EXPECT_THROW(DeviceCatalog::BuiltIn().FindDevice("a100-sxm4-4"), Error);
}

TEST(DeviceCatalog, AddsADeviceFromAFile) {
  DeviceCatalog catalog;
  catalog.AddDevice(kSmallDevice, "toy.json");
  const DeviceSpec& toy = catalog.FindDevice("TINY");
  EXPECT_EQ(toy.display_name, "Toy GPU");
  EXPECT_EQ(toy.sms, 10);
  EXPECT_EQ(toy.compute_slices, 0);
  EXPECT_TRUE(toy.mig_profiles.empty());
  EXPECT_EQ(toy.peak_tflops.at(Precision::kTf32), 2);
  EXPECT_EQ(toy.peak_tflops.at(Precision::kBf16), 4);
}

TEST(DeviceCatalog, TakesTheTotalForUsableMemoryThatAFileLeavesOut) {
  DeviceCatalog catalog;
  catalog.AddDevice(kSmallDevice, "toy.json");
  EXPECT_EQ(catalog.FindDevice("toy").usable_mib, 1000);
}

TEST(DeviceCatalog, ReplacesADeviceOfTheSameName) {
  DeviceCatalog catalog = DeviceCatalog::BuiltIn();
  const std::size_t count = catalog.devices().size();
  catalog.AddDevice(kSmallDevice, "toy.json");
  std::string changed = kSmallDevice;
  changed.replace(changed.find("\"sms\": 10"), 9, "\"sms\": 11");
  catalog.AddDevice(changed, "toy.json");
  EXPECT_EQ(catalog.devices().size(), count + 1);
  EXPECT_EQ(catalog.FindDevice("toy").sms, 11);
}

TEST(DeviceCatalog, RefusesAnAliasThatAnotherDeviceHas) {
  DeviceCatalog catalog = DeviceCatalog::BuiltIn();
  std::string greedy = kSmallDevice;
  greedy.replace(greedy.find("tiny"), 4, "H100");
  const std::string message = MessageOf(
      [&] { catalog.AddDevice(greedy, "toy.json"); }, ErrorCode::kCorrupt);
  EXPECT_EQ(message,
            "toy.json: device 'toy' claims the name \"H100\", which belongs to "
            "'h100-sxm5-80gb'");
  EXPECT_THROW(catalog.FindDevice("toy"), Error);
}

TEST(DeviceCatalog, LeavesAShareOfAUnifiedMemoryToTheHost) {
  std::string unified = kSmallDevice;
  unified.replace(unified.find("\"memory_mib\": 1000"), 18,
                  "\"memory_mib\": 100000, \"unified_memory\": true");
  DeviceCatalog catalog = DeviceCatalog::BuiltIn();
  catalog.AddDevice(unified, "toy.json");
  EXPECT_EQ(catalog.FindDevice("toy").usable_mib, 100000 - 8192);
  EXPECT_EQ(catalog.FindDevice("toy").host_share_mib, 8192);
  const std::int64_t of_a_card = catalog.FindDevice("h100").usable_mib;
  catalog.KeepForHost(20000);
  EXPECT_EQ(catalog.FindDevice("toy").usable_mib, 80000);
  EXPECT_EQ(catalog.FindDevice("h100").usable_mib, of_a_card);
  catalog.KeepForHost(200000);
  EXPECT_EQ(catalog.FindDevice("toy").usable_mib, 1);
}

TEST(DeviceCatalog, FindsAProfileAndListsThemForAnUnknownOne) {
  const DeviceSpec& a100 = DeviceCatalog::BuiltIn().FindDevice("a100");
  EXPECT_EQ(a100.FindMigProfile("3G.20GB").sms, 42);
  EXPECT_EQ(a100.FindMigProfile("1g.5gb+me").max_instances, 1);
  const std::string message =
      MessageOf([&] { a100.FindMigProfile("1g.6gb"); }, ErrorCode::kNotFound);
  EXPECT_EQ(message,
            "MIG profile of a100-sxm4-40gb '1g.6gb' is unknown; known are: "
            "1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb");
}

TEST(DeviceCatalog, FindsAProfileAsClustersCallIt) {
  const DeviceSpec& a100 = DeviceCatalog::BuiltIn().FindDevice("a100");
  for (const char* name : {"mig-1g.5gb", "nvidia.com/mig-1g.5gb", "MIG 1g.5gb",
                           "NVIDIA.com/MIG-1G.5GB"}) {
    EXPECT_EQ(a100.FindMigProfile(name).name, "1g.5gb") << name;
  }
  EXPECT_EQ(a100.FindMigProfile("nvidia.com/mig-1g.5gb.me").name, "1g.5gb+me");
}

TEST(DeviceCatalog, SaysOfADeviceWithoutMigThatItHasNone) {
  const DeviceSpec& card = DeviceCatalog::BuiltIn().FindDevice("rtx-3090");
  EXPECT_EQ(
      MessageOf([&] { card.FindMigProfile("1g.5gb"); }, ErrorCode::kNotFound),
      "MIG profile '1g.5gb': rtx-3090 has no MIG");
}

TEST(DeviceCatalog, NamesNoneWhenThereIsNothingToFind) {
  const DeviceCatalog empty;
  EXPECT_EQ(MessageOf([&] { empty.FindDevice("x"); }, ErrorCode::kNotFound),
            "device 'x' is unknown; list all with `foretell devices`, add one "
            "with --device-file");
  EXPECT_EQ(MessageOf([&] { empty.DefaultContext(); }, ErrorCode::kNotFound),
            "the catalogue has no environment");
}

TEST(DeviceCatalog, HasTodaysEnvironmentAsDefault) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  EXPECT_EQ(catalog.DefaultContext().name, "cuda13");
  const DeviceSpec& a100 = catalog.FindDevice("a100");
  EXPECT_EQ(catalog.DefaultContext().ContextMib(a100), 550);
  EXPECT_EQ(catalog.DefaultContext().context_uncertainty_mib, 80);
  EXPECT_EQ(catalog.FindContext("CUDA11.6-eager").ContextMib(a100), 1750);
}

TEST(DeviceCatalog, ListsTheEnvironmentsForAnUnknownOne) {
  EXPECT_EQ(
      MessageOf([] { DeviceCatalog::BuiltIn().FindContext("cuda9"); },
                ErrorCode::kNotFound),
      "environment 'cuda9' is unknown; known are: cuda10, cuda11.6-eager, "
      "cuda11-tf32, cuda12-eager, cuda12-lazy, cuda13-lazy, cuda13");
}

TEST(ContextModel, PrefersTheSizeOfTheArchitecture) {
  DeviceSpec hopper;
  hopper.architecture = "hopper";
  DeviceSpec other;
  other.architecture = "volta";
  const ContextModel context{.name = "x",
                             .context_mib = {{"*", 100.0}, {"hopper", 200.0}}};
  EXPECT_EQ(context.ContextMib(hopper), 200);
  EXPECT_EQ(context.ContextMib(other), 100);
}

TEST(DeviceSpec, HasThreadsByComputeCapability) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  for (const char* full : {"p40", "v100", "a100", "h100", "b200"}) {
    EXPECT_EQ(catalog.FindDevice(full).ThreadsPerSm(), 2048) << full;
  }
  for (const char* small : {"rtx-3090", "a40", "rtx-4090", "rtx-5090"}) {
    EXPECT_EQ(catalog.FindDevice(small).ThreadsPerSm(), 1536) << small;
  }
  EXPECT_EQ(catalog.FindDevice("titan-rtx").ThreadsPerSm(), 1024);
  EXPECT_EQ(DeviceSpec().ThreadsPerSm(), 2048);
}

TEST(ContextModel, ScalesWithTheFullMultiprocessorsOfTheDevice) {
  const ContextModel context{.context_mib = {{"*", 300}, {"hopper", 400}},
                             .context_full_sms = {{"*", 100}},
                             .context_mib_per_sm = 2.5};
  DeviceSpec device{.compute_capability = 80, .sms = 60};
  EXPECT_EQ(context.ContextMib(device), 200);  // 300 - 2.5 * 40.
  device.sms = 108;
  EXPECT_EQ(context.ContextMib(device), 320);
  device.compute_capability = 86;
  EXPECT_EQ(context.ContextMib(device), 252.5);  // Three quarters of 108: 81.
  EXPECT_EQ(context.ContextSavedMib(device, 8), 187.5);  // 75 full ones less.
  device.compute_capability = 75;
  EXPECT_EQ(context.ContextMib(device), 185);  // Half of them: 54.
  device.architecture = "hopper";
  EXPECT_EQ(context.ContextMib(device), 400);
}

TEST(ContextModel, IsNeverBelowNothing) {
  const ContextModel context{.context_mib = {{"*", 100}},
                             .context_full_sms = {{"*", 100}},
                             .context_mib_per_sm = 4};
  EXPECT_EQ(context.ContextMib({.sms = 10}), 0);
}

TEST(DeviceCatalog, ScalesTheContextsOfItsEnvironments) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const auto mib = [&](const char* environment, const char* device) {
    return catalog.FindContext(environment)
        .ContextMib(catalog.FindDevice(device));
  };
  EXPECT_EQ(mib("cuda13", "h100"), 625);
  EXPECT_DOUBLE_EQ(mib("cuda13", "h100-pcie"), 625 - 3.4 * (132 - 114));
  EXPECT_DOUBLE_EQ(mib("cuda13", "rtx-3090"), 550 - 3.4 * (108 - 61.5));
  EXPECT_DOUBLE_EQ(mib("cuda12-lazy", "rtx-4060"), 550 - 3.4 * (108 - 18));
  EXPECT_EQ(mib("cuda11.6-eager", "v100"), 1631);  // 1750 - 4.25 * 28.
  EXPECT_EQ(mib("cuda10", "rtx-2080-ti"), 1378);   // 877 and 795, less SMs.
  EXPECT_EQ(mib("cuda10", "titan-rtx"), 1386.5);   // 36 full ones, not 34.
  EXPECT_EQ(mib("cuda10", "gtx-1080-ti"), 1299);   // 28, not 20.
  EXPECT_EQ(mib("cuda10", "v100"), 1551);
}

TEST(ContextModel, RefusesAnArchitectureWithoutSizeOrDefault) {
  DeviceSpec device;
  device.architecture = "volta";
  const ContextModel context{.name = "x", .context_mib = {{"hopper", 200.0}}};
  EXPECT_EQ(MessageOf([&] { context.ContextMib(device); },
                      ErrorCode::kInvalidArgument),
            "environment 'x' has no context size for 'volta' and no default "
            "\"*\"");
}

TEST(ContextModel, ShrinksWithTheVisibleMultiprocessors) {
  const ContextModel context{.context_mib = {{"*", 300}},
                             .context_mib_per_sm = 2.5};
  DeviceSpec device;
  device.sms = 100;
  EXPECT_EQ(context.ContextSavedMib(device, 100), 0);
  EXPECT_EQ(context.ContextSavedMib(device, 20), 200);
  device.sms = 1000;
  EXPECT_EQ(context.ContextSavedMib(device, 20), 300);  // No more than all.
}

}  // namespace
}  // namespace foretell
