#include "src/host/measured_host.h"

#include <gtest/gtest.h>

#include "src/core/files.h"
#include "tests/graph/expect_error.h"

namespace foretell::host {
namespace {

MeasuredHost Sample() {
  return {.spec = {.name = "box-1", .factor = 1.23456789, .spread = 1.05},
          .cpu = "Some CPU",
          .libtorch = "2.13.0",
          .measured_at = "2026-01-31T12:00:00Z",
          .source = "foretell host",
          .probes = {{.probe = "add",
                      .kind = "elementwise",
                      .tensors = "meta",
                      .grad = true,
                      .us = 0.1}}};
}

TEST(MeasuredHost, ComesBackFromItsJson) {
  EXPECT_EQ(HostFromJson(HostToJson(Sample()), "x"), Sample());
}

TEST(MeasuredHost, IsWrittenAsEarlierVersionsWroteIt) {
  const std::string path = FORETELL_SOURCE_DIR "/data/hosts/reference.json";
  EXPECT_EQ(HostToJson(HostFromJson(ReadText(path), path)) + "\n",
            ReadText(path));
}

TEST(MeasuredHost, NeedsNameFactorAndSpreadAlone) {
  const MeasuredHost host =
      HostFromJson(R"({"name": "box", "factor": 2, "spread": 1.5})", "x");
  EXPECT_EQ(host.spec, (HostSpec{.name = "box", .factor = 2, .spread = 1.5}));
  EXPECT_TRUE(host.probes.empty());
}

TEST(MeasuredHost, IsRefusedByOneErrorThatNamesFileAndField) {
  const auto refused = [](const std::string& json, const std::string& part) {
    ExpectError([&] { HostFromJson(json, "box.json"); }, ErrorCode::kCorrupt,
                "box.json: " + part);
  };
  refused("{", "");
  refused("[1]", "");
  refused(R"({"name": "box", "spread": 1})", "factor");
  refused(R"({"name": "box", "factor": 2})", "spread");
  refused(R"({"name": "box", "factor": 0, "spread": 1})", "factor is 0");
  refused(R"({"name": "box", "factor": 1e9, "spread": 1})", "factor is");
  refused(R"({"name": "box", "factor": 1, "spread": 0.5})", "spread is 0.5");
  refused(R"({"name": "a/b", "factor": 1, "spread": 1})", "name");
  refused(R"({"name": "box", "factor": 1, "spread": 1, "color": 1})",
          "unknown field \"color\"");
  refused(R"({"name": "box", "factor": 1, "spread": 1, "probes": [{}]})",
          "probes");
}

TEST(CheckHostName, RefusesWhatIsNoFileNameAndWhatMeansSomethingElse) {
  for (const char* name : {"mine", "a", "dgx-1.lab_2", "7"}) {
    EXPECT_NO_THROW(CheckHostName(name)) << name;
  }
  for (const char* name : {"", "a/b", "../x", "/etc/x", ".hidden", "-x", "a b",
                           "a\nb", "\xff", "python", "cpp"}) {
    ExpectError([&] { CheckHostName(name); }, ErrorCode::kInvalidArgument,
                "host '");
  }
  ExpectError([] { CheckHostName(std::string(65, 'a')); },
              ErrorCode::kInvalidArgument, "1 to 64 letters");
}

TEST(ReferenceHost, HasTimesOfEveryKindAndSaysWhereFrom) {
  const MeasuredHost& reference = ReferenceHost();
  EXPECT_EQ(reference.spec.name, "reference");
  EXPECT_FALSE(reference.cpu.empty());
  EXPECT_FALSE(reference.libtorch.empty());
  EXPECT_FALSE(reference.source.empty());
  EXPECT_GE(reference.probes.size(), 40u);
  for (const ProbeTime& time : reference.probes) EXPECT_GT(time.us, 0);
  EXPECT_DOUBLE_EQ(CompareHosts(reference.probes, reference).factor,
                   reference.spec.factor);
}

}  // namespace
}  // namespace foretell::host
