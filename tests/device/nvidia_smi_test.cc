#include "src/device/nvidia_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"

namespace foretell::device {
namespace {

using testing::HasSubstr;

/// What `nvidia-smi -q` prints of a workstation card, without most sections.
constexpr char kQuery[] = R"(
==============NVSMI LOG==============

Timestamp                                 : Mon Mar  2 10:11:12 2026
Driver Version                            : 580.95.05

Attached GPUs                             : 1
GPU 00000000:65:00.0
    Product Name                          : NVIDIA RTX A4000
    Product Architecture                  : Ampere
    MIG Mode
        Current                           : N/A
        Pending                           : N/A
    FB Memory Usage
        Total                             : 16376 MiB
        Reserved                          : 391 MiB
        Used                              : 5 MiB
    BAR1 Memory Usage
        Total                             : 256 MiB
    GPU Power Readings
        Average Power Draw                : N/A
        Current Power Limit               : 120.00 W
        Default Power Limit               : 140.00 W
    Module Power Readings
        Default Power Limit               : N/A
)";

std::string SmiRefusal(const std::string& text) {
  try {
    ReadNvidiaSmi(text, "gpu.txt");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

std::string ChangedSmi(const std::string& from, const std::string& to) {
  std::string text = kQuery;
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(ReadNvidiaSmi, ReadsWhatAQueryStates) {
  const SmiGpu gpu = ReadNvidiaSmi(kQuery, "gpu.txt");
  EXPECT_EQ(gpu.name, "NVIDIA RTX A4000");
  EXPECT_EQ(gpu.architecture, "ampere");
  EXPECT_EQ(gpu.compute_capability, 0);
  EXPECT_EQ(gpu.memory_mib, 16376);
  EXPECT_EQ(gpu.reserved_mib, 391);
  EXPECT_EQ(gpu.power_w, 140);
  EXPECT_FALSE(gpu.has_mig);
}

TEST(ReadNvidiaSmi, ReadsOlderAndNestedSections) {
  EXPECT_EQ(
      ReadNvidiaSmi(ChangedSmi("    GPU Power Readings", "    Power Readings"),
                    "gpu.txt")
          .power_w,
      140);
  const std::string nested =
      ChangedSmi("        Default Power Limit               : 140.00 W",
                 "        GPU Ceiling Power Limit\n"
                 "            Default Power Limit           : 150.00 W");
  EXPECT_EQ(ReadNvidiaSmi(nested, "gpu.txt").power_w, 150);
}

TEST(ReadNvidiaSmi, TellsACardWithMigFromItsSlices) {
  const SmiGpu gpu = ReadNvidiaSmi(
      ChangedSmi("        Current                           : N/A\n",
                 "        Current                           : Enabled\n"
                 "    MIG Device\n"
                 "        Shared FB Memory Usage\n"
                 "            Total                         : 40448 MiB\n"),
      "gpu.txt");
  EXPECT_TRUE(gpu.has_mig);
  EXPECT_EQ(gpu.memory_mib, 16376);
}

TEST(ReadNvidiaSmi, LeavesOutWhatIsNotStated) {
  const SmiGpu gpu = ReadNvidiaSmi(ChangedSmi("16376 MiB", "N/A"), "gpu.txt");
  EXPECT_EQ(gpu.memory_mib, 0);
}

TEST(ReadNvidiaSmi, ReadsCsvWithAndWithoutUnits) {
  const SmiGpu gpu = ReadNvidiaSmi(
      "name, memory.total [MiB], memory.reserved [MiB], power.limit [W], "
      "compute_cap, mig.mode.current\r\n"
      "NVIDIA A100-SXM4-80GB, 81920 MiB, 632 MiB, 275.00 W, 8.0, Disabled\r\n"
      "NVIDIA A100-SXM4-80GB, 81920 MiB, 632 MiB, 275.00 W, 8.0, Disabled\r\n",
      "gpu.csv");
  EXPECT_EQ(gpu.name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(gpu.memory_mib, 81920);
  EXPECT_EQ(gpu.reserved_mib, 632);
  EXPECT_EQ(gpu.power_w, 275);
  EXPECT_EQ(gpu.compute_capability, 80);
  EXPECT_TRUE(gpu.has_mig);
  const SmiGpu bare = ReadNvidiaSmi(
      "name, memory.total [MiB], compute_cap\nNVIDIA GB10, [N/A], 12.1\n",
      "gpu.csv");
  EXPECT_EQ(bare.memory_mib, 0);
  EXPECT_EQ(bare.compute_capability, 121);
}

TEST(ReadNvidiaSmi, NamesLineAndValueOfANumberThatIsNone) {
  EXPECT_EQ(SmiRefusal(ChangedSmi("16376 MiB", "plenty")),
            "gpu.txt:15: FB Memory Usage/Total is 'plenty', expected a number "
            "of at least 0");
  EXPECT_THAT(SmiRefusal("name, memory.total [MiB]\nNVIDIA L4, -5 MiB\n"),
              HasSubstr("gpu.txt:2: memory.total is '-5 MiB'"));
  EXPECT_THAT(SmiRefusal("name, memory.total [MiB]\nNVIDIA L4\n"),
              HasSubstr("gpu.txt:2: has 1 values, expected 2 as in line 1"));
}

TEST(ReadNvidiaSmi, RefusesSeveralModelsAndOtherTexts) {
  EXPECT_THAT(SmiRefusal("name\nNVIDIA L4\nNVIDIA A10\n"),
              HasSubstr("gpu.txt:3: 'NVIDIA A10' after 'NVIDIA L4'"));
  EXPECT_THAT(SmiRefusal("NVIDIA L4, 23034 MiB\n"),
              HasSubstr("gpu.txt:1: 'NVIDIA L4, 23034 MiB': expected"));
  EXPECT_THAT(SmiRefusal(""), HasSubstr("gpu.txt:1: ''"));
  EXPECT_THAT(SmiRefusal("<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n"),
              HasSubstr("expected the output of `nvidia-smi -q`"));
}

}  // namespace
}  // namespace foretell::device
