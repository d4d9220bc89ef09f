#include "src/device/read_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "foretell/error.h"
#include "src/device/embedded_data.h"

namespace foretell::device {
namespace {

// Two compute slices and two slots: a half and a whole.
constexpr char kDevice[] = R"({
  "name": "toy",
  "aliases": ["tiny"],
  "display_name": "Toy GPU",
  "architecture": "ampere",
  "compute_capability": 86,
  "sms": 10,
  "memory_mib": 1000,
  "usable_mib": 990,
  "bandwidth_gb_s": 100,
  "reached_bandwidth_gb_s": 80,
  "l2_mib": 1,
  "peak_tflops": {"fp32": 1, "tf32": 2, "fp16": 4, "bf16": 4},
  "fp4_tflops": 16,
  "matmul_tflops": {"tf32": 1.5, "fp16": 5},
  "launch_us": 2.5,
  "max_power_w": 50,
  "idle_power_w": 5,
  "cublas_workspace_bytes": 0,
  "mig": {
    "compute_slices": 2,
    "memory_slots": 2,
    "profiles": [
      {"name": "1g.1gb", "usable_mib": 480, "sms": 5, "compute_slices": 1,
       "memory_slots": 1, "bandwidth_fraction": 0.5, "max_instances": 2,
       "media_extensions": false, "placements": [0, 1], "source": "made up"},
      {"name": "2g.2gb", "usable_mib": 980, "sms": 10, "compute_slices": 2,
       "memory_slots": 2, "bandwidth_fraction": 1, "max_instances": 1,
       "media_extensions": false, "placements": [0], "source": "made up"}
    ]
  },
  "sources": ["made up"]
})";

/// kDevice with the first `from` replaced by `to`.
std::string With(const std::string& from, const std::string& to) {
  std::string text = kDevice;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string Refusal(const std::string& text) {
  try {
    ReadDevice(text, "toy.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    return error.what();
  }
  return "accepted";
}

TEST(ReadDevice, ReadsEveryField) {
  const DeviceSpec device = ReadDevice(kDevice, "toy.json");
  EXPECT_EQ(device.name, "toy");
  EXPECT_EQ(device.aliases, std::vector<std::string>{"tiny"});
  EXPECT_EQ(device.display_name, "Toy GPU");
  EXPECT_EQ(device.architecture, "ampere");
  EXPECT_EQ(device.compute_capability, 86);
  EXPECT_EQ(device.sms, 10);
  EXPECT_EQ(device.memory_mib, 1000);
  EXPECT_EQ(device.usable_mib, 990);
  EXPECT_EQ(device.bandwidth_gb_s, 100);
  EXPECT_EQ(device.reached_bandwidth_gb_s, 80);
  EXPECT_EQ(device.l2_mib, 1);
  EXPECT_EQ(device.peak_tflops.at(Precision::kFp32), 1);
  EXPECT_EQ(device.peak_tflops.at(Precision::kTf32), 2);
  EXPECT_EQ(device.fp4_tflops, 16);
  EXPECT_EQ(device.peak_tflops.at(Precision::kFp16), 4);
  EXPECT_EQ(device.matmul_tflops,
            (std::map<Precision, double>{{Precision::kTf32, 1.5},
                                         {Precision::kFp16, 5}}));
  EXPECT_EQ(device.launch_us, 2.5);
  EXPECT_EQ(device.max_power_w, 50);
  EXPECT_EQ(device.chip_power_w, 50);
  EXPECT_EQ(device.idle_power_w, 5);
  EXPECT_EQ(device.cublas_workspace_bytes, 0);
  EXPECT_EQ(device.compute_slices, 2);
  EXPECT_EQ(device.memory_slots, 2);
  ASSERT_EQ(device.mig_profiles.size(), 2u);
  const MigProfile& half = device.mig_profiles[0];
  EXPECT_EQ(half.name, "1g.1gb");
  EXPECT_EQ(half.usable_mib, 480);
  EXPECT_EQ(half.sms, 5);
  EXPECT_EQ(half.compute_slices, 1);
  EXPECT_EQ(half.memory_slots, 1);
  EXPECT_EQ(half.bandwidth_fraction, 0.5);
  EXPECT_EQ(half.max_instances, 2);
  EXPECT_FALSE(half.media_extensions);
  EXPECT_EQ(half.placements, (std::vector<int>{0, 1}));
  EXPECT_EQ(half.source, "made up");
  EXPECT_EQ(device.sources, std::vector<std::string>{"made up"});
}

struct RefusalCase {
  const char* name;
  const char* from;
  const char* to;
  const char* message;
};

class ReadDeviceRefuses : public testing::TestWithParam<RefusalCase> {};

const RefusalCase kRefusals[] = {
    {"AnUnknownField", "\"l2_mib\": 1", "\"l2_mib\": 1, \"l3_mib\": 2",
     "toy.json: unknown field \"l3_mib\", expected one of: aliases, "
     "architecture, bandwidth_gb_s, chip_power_w, compute_capability, "
     "cublas_workspace_bytes, display_name, fp4_tflops, idle_power_w, l2_mib, "
     "launch_us, link_gb_s, matmul_tflops, max_power_w, memory_mib, mig, name, "
     "peak_tflops, reached_bandwidth_gb_s, sms, sources, "
     "unified_memory, usable_mib"},
    {"AChipWeakerThanItsBoard", "\"l2_mib\": 1",
     "\"l2_mib\": 1, \"chip_power_w\": 49",
     "toy.json: chip_power_w is 49, expected a number from 50 to 100000"},
    {"ABandwidthAboveItsPeak", "_gb_s\": 80", "_gb_s\": 101",
     "toy.json: reached_bandwidth_gb_s is 101, expected a number from 1 to "
     "100"},
    {"AnUnknownFieldOfAProfile", "\"sms\": 5", "\"sms\": 5, \"gb\": 1",
     "toy.json: mig.profiles[0] unknown field \"gb\", expected one of: "
     "bandwidth_fraction, compute_slices, max_instances, media_extensions, "
     "memory_slots, name, placements, sms, source, usable_mib"},
    {"AnUnknownPrecision", "\"tf32\": 2", "\"tf32\": 2, \"fp8\": 8",
     "toy.json: peak_tflops unknown field \"fp8\", expected one of: bf16, "
     "fp16, fp32, tf32"},
    {"AnUnknownPrecisionOfAProduct", "\"tf32\": 1.5", "\"tf16\": 1.5",
     "toy.json: matmul_tflops unknown field \"tf16\", expected one of: bf16, "
     "fp16, fp32, tf32"},
    {"AnEndlessRate", "\"fp16\": 5", "\"fp16\": 1e9",
     "toy.json: matmul_tflops.fp16 is 1000000000.0, expected a number from "
     "0.001 to 1e+06"},
    {"AMissingField", "\"sms\": 10,", "", "toy.json: sms is missing"},
    {"AMissingPrecision", "\"tf32\": 2, ", "",
     "toy.json: peak_tflops.tf32 is missing"},
    {"AFieldGivenTwice", "\"sms\": 10", "\"sms\": 10, \"sms\": 10",
     "toy.json: field \"sms\" is given twice"},
    {"AStringForANumber", "\"sms\": 10", "\"sms\": \"10\"",
     "toy.json: sms is \"10\", expected a whole number from 1 to 10000"},
    {"AFractionForAWholeNumber", "\"sms\": 10", "\"sms\": 10.5",
     "toy.json: sms is 10.5, expected a whole number from 1 to 10000"},
    {"ANegativeNumber", "\"sms\": 10", "\"sms\": -10",
     "toy.json: sms is -10, expected a whole number from 1 to 10000"},
    {"ANumberBeyondInt64", "\"memory_mib\": 1000",
     "\"memory_mib\": 18446744073709551615",
     "toy.json: memory_mib is 18446744073709551615, expected a whole number "
     "from 1 to 16777216"},
    {"ZeroBandwidth", "\"bandwidth_gb_s\": 100", "\"bandwidth_gb_s\": 0",
     "toy.json: bandwidth_gb_s is 0, expected a number from 1 to 1e+06"},
    {"NullForANumber", "\"l2_mib\": 1", "\"l2_mib\": null",
     "toy.json: l2_mib is null, expected a number from 0 to 1e+06"},
    {"MoreUsableThanInAll", "\"usable_mib\": 990", "\"usable_mib\": 1001",
     "toy.json: usable_mib is 1001, expected a whole number from 1 to 1000"},
    {"MoreIdlePowerThanItsLimit", "\"idle_power_w\": 5", "\"idle_power_w\": 51",
     "toy.json: idle_power_w is 51, expected a number from 0 to 50"},
    {"ANameThatYamlWouldMisread", "\"toy\"", "\"a: b\"",
     "toy.json: name is \"a: b\", expected lower-case letters, digits, '-', "
     "'.' and '_'"},
    {"AnEmptyName", "\"toy\"", "\"\"",
     "toy.json: name is \"\", expected a non-empty string without control "
     "characters"},
    {"AControlCharacter", "Toy GPU", "Toy\\nGPU",
     "toy.json: display_name is \"Toy\\nGPU\", expected a non-empty string "
     "without control characters"},
    {"AnAliasGivenTwice", "\"tiny\"", "\"tiny\", \"tiny\"",
     "toy.json: aliases contains \"tiny\" twice, expected it once"},
    {"AnAliasThatIsANumber", "\"tiny\"", "1",
     "toy.json: aliases contains 1, expected non-empty strings without "
     "control characters"},
    {"NoSources", "\"sources\": [\"made up\"]", "\"sources\": []",
     "toy.json: sources is [], expected at least one source"},
    {"SourcesThatAreNoArray", "\"sources\": [\"made up\"]", "\"sources\": {}",
     "toy.json: sources is {}, expected an array"},
    {"PeaksThatAreNoObject",
     "{\"fp32\": 1, \"tf32\": 2, \"fp16\": 4, \"bf16\": 4}", "7",
     "toy.json: peak_tflops is 7, expected an object"},
    {"ANumberForABoolean", "\"media_extensions\": false",
     "\"media_extensions\": 0",
     "toy.json: mig.profiles[0].media_extensions is 0, expected true or "
     "false"},
    {"AProfileNameOfAnotherForm", "1g.1gb", "half",
     "toy.json: mig.profiles[0].name is \"half\", expected a name such as "
     "\"1g.5gb\""},
    {"AProfileNameWithAnOddSuffix", "1g.1gb", "1g.1gb+ME",
     "toy.json: mig.profiles[0].name is \"1g.1gb+ME\", expected a name such "
     "as \"1g.5gb\""},
    {"AProfileNameThatLeavesOutTheUnit", "1g.1gb", "1g.1",
     "toy.json: mig.profiles[0].name is \"1g.1\", expected a name such as "
     "\"1g.5gb\""},
    {"SlicesThatTheNameDenies", "1g.1gb", "2g.1gb",
     "toy.json: mig.profiles[0] ('2g.1gb'): compute_slices is 1, expected as "
     "in its name 2"},
    {"MediaExtensionsThatTheNameDenies", "1g.1gb", "1g.1gb+me",
     "toy.json: mig.profiles[0] ('1g.1gb+me'): media_extensions is 0, "
     "expected as in its name 1"},
    {"AProfileGivenTwice",
     "2g.2gb\", \"usable_mib\": 980, \"sms\": 10, "
     "\"compute_slices\": 2",
     "1g.1gb\", \"usable_mib\": 980, \"sms\": 10, \"compute_slices\": 1",
     "toy.json: mig.profiles[1] ('1g.1gb'): number of profiles of this name "
     "is 2, expected at most 1"},
    {"MoreSmsThanTheDevice", "\"sms\": 5", "\"sms\": 11",
     "toy.json: mig.profiles[0] ('1g.1gb'): sms is 11, expected at most 10"},
    {"MoreSlicesThanTheDevice", "\"mig\": {\n    \"compute_slices\": 2",
     "\"mig\": {\n    \"compute_slices\": 1",
     "toy.json: mig.profiles[0] ('1g.1gb'): max_instances is 2, expected what "
     "the placements permit, 1"},
    {"APlacementBeyondTheSlots", "[0, 1]", "[0, 2]",
     "toy.json: mig.profiles[0] ('1g.1gb'): end of a placement is 3, expected "
     "at most 2"},
    {"PlacementsOutOfOrder", "[0, 1]", "[1, 0]",
     "toy.json: mig.profiles[0] ('1g.1gb'): placement is 0, expected more "
     "than 1"},
    {"NoPlacements", "[0, 1]", "[]",
     "toy.json: mig.profiles[0] ('1g.1gb'): number of placements is 0, "
     "expected at least 1"},
    {"APlacementThatIsNegative", "[0, 1]", "[-1, 1]",
     "toy.json: mig.profiles[0].placements contains -1, expected a whole "
     "number from 0 to 11"},
    {"FewerInstancesThanPlacementsPermit", "\"max_instances\": 2",
     "\"max_instances\": 1",
     "toy.json: mig.profiles[0] ('1g.1gb'): max_instances is 1, expected what "
     "the placements permit, 2"},
    {"ProfilesThatAddUpToTooMuchMemory", "\"usable_mib\": 480",
     "\"usable_mib\": 501",
     "toy.json: mig.profiles[0] ('1g.1gb'): memory of all instances is 1002, "
     "expected at most 1000"},
};

INSTANTIATE_TEST_SUITE_P(Refusals, ReadDeviceRefuses,
                         testing::ValuesIn(kRefusals), [](const auto& refusal) {
                           return refusal.param.name;
                         });

TEST_P(ReadDeviceRefuses, AndNamesPlaceAndBothValues) {
  EXPECT_EQ(Refusal(With(GetParam().from, GetParam().to)), GetParam().message);
}

TEST(ReadDevice, RefusesADocumentThatIsNoObject) {
  EXPECT_EQ(Refusal("[1]"), "toy.json: is [1], expected an object");
  EXPECT_EQ(Refusal("null"), "toy.json: is null, expected an object");
}

TEST(ReadDevice, RefusesAnEmptyFileAndOtherFormats) {
  EXPECT_THAT(Refusal(""), testing::StartsWith("toy.json: "));
  EXPECT_THAT(Refusal("\x89PNG\r\n\x1a\n"), testing::StartsWith("toy.json: "));
}

TEST(ReadDevice, RefusesDeepNesting) {
  EXPECT_EQ(Refusal(std::string(100000, '[')),
            "toy.json: nested deeper than 16 levels");
}

TEST(ReadDevice, RefusesMoreProfilesThanAnyDeviceHas) {
  std::string text = kDevice;
  const std::size_t begin = text.find("[\n      {\"name\"");
  const std::size_t end = text.find("    ]\n  },");
  text.replace(begin, end - begin, "[\n");
  EXPECT_EQ(Refusal(text),
            "toy.json: mig.profiles has 0 entries, expected 1 to 32");
}

TEST(ReadDevice, RefusesEveryTruncationOfABuiltInFile) {
  // One of seven slices and one of four; the others have their shape.
  for (const EmbeddedFile& file : DeviceFiles()) {
    if (file.path != "data/devices/a100-sxm4-40gb.json" &&
        file.path != "data/devices/a30.json") {
      continue;
    }
    // The last character is the line feed after the closing brace.
    for (std::size_t size = 0; size + 1 < file.bytes.size(); ++size) {
      ASSERT_THROW(ReadDevice(file.bytes.substr(0, size), file.path), Error)
          << file.path << " cut to " << size;
    }
  }
}

TEST(ReadDevice, SurvivesEveryFlippedBit) {
  const std::string text = kDevice;
  int accepted = 0;
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    try {
      ReadDevice(flipped, "toy.json");
      ++accepted;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    }
  }
  // A flip inside a free text or of a digit may leave a valid file.
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, static_cast<int>(text.size()));
}

}  // namespace
}  // namespace foretell::device
