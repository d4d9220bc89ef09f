#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "foretell/correction.h"
#include "src/core/files.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using Parsed = nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

/// A document as an earlier version wrote it, of "adaptation" or "calibration".
std::string OldDocument(const std::string& format) {
  return ReadText(FORETELL_SOURCE_DIR "/tests/golden/correction/" + format +
                  ".json");
}

TEST(CorrectionJson, WritesTheDocumentsThatItReads) {
  for (const std::string format : {"adaptation", "calibration"}) {
    const std::string json = OldDocument(format);
    EXPECT_EQ(
        Parsed::parse(CorrectionToJson(CorrectionFromJson(json, "c.json"))),
        Parsed::parse(json));
  }
}

TEST(CorrectionJson, ReadsAnAdaptation) {
  const Correction read =
      CorrectionFromJson(OldDocument("adaptation"), "mine.json");
  EXPECT_EQ(read.origin, "mine.json");
  EXPECT_FALSE(read.scope.IsOfOneModel());
  EXPECT_EQ(read.scope.device, "rtx-4090");
  EXPECT_EQ(read.scope.context, "cuda13");
  EXPECT_EQ(read.scope.run.mode, Mode::kInference);
  EXPECT_EQ(read.scope.run.host, Host::kPython);
  EXPECT_EQ(read.scope.run.optimizer, Optimizer::kAdamW);
  EXPECT_EQ(read.rows, 6);
  EXPECT_EQ(read.networks, 3);
  EXPECT_EQ(read.terms.host.factor, 0.8771281312388256);
  EXPECT_FALSE(read.terms.host.IsNamed());
  EXPECT_EQ(read.terms.level, 0.086712549922129);
  EXPECT_EQ(read.terms.memory_mib, -16.235970990123672);
  EXPECT_EQ(read.terms.energy_level, -0.25);
  EXPECT_EQ(read[Target::kMemory]->after.mean, 0.02946434865288002);
  EXPECT_EQ(read[Target::kLatency]->half_width, std::nullopt);
  EXPECT_EQ(read[Target::kEnergy]->half_width, 0.1);
}

TEST(CorrectionJson, ReadsACalibration) {
  const Correction read =
      CorrectionFromJson(OldDocument("calibration"), "gap.json");
  EXPECT_EQ(read.scope.model, "zoo:mlp?inputs=64");
  EXPECT_EQ(read.scope.measured_on, "cuda:0");
  EXPECT_EQ(read.scope.run.host, Host::kCpp);
  ASSERT_EQ(read.scope.factors.size(), 3);
  EXPECT_EQ(read.scope.factors[1].place, ScopeFactor::Place::kField);
  EXPECT_EQ(read.scope.factors[2].input, "features");
  EXPECT_EQ(read.scope.factors[2].dim, 1);
  EXPECT_THAT(
      read.scope.step->inputs[0].shape,
      ElementsAre(ScopeSize{.factor = "batch"}, ScopeSize{.factor = "inputs"},
                  ScopeSize{}, ScopeSize{.size = 64}));
  EXPECT_EQ(read.scope.step->parameters.highest, 19210);
  ASSERT_EQ(read.terms.gap.size(), 2);
  EXPECT_EQ(read.terms.gap[1].coefficient, 2.5);
  EXPECT_THAT(read.terms.gap[1].powers, ElementsAre(1, 0, 2));
  EXPECT_EQ(read.rows, 9);
  EXPECT_EQ(read[Target::kMemory]->rows, 9);
  EXPECT_EQ(read[Target::kMemory]->half_width, std::log1p(0.25));
  EXPECT_FALSE(read[Target::kLatency]);
  EXPECT_FALSE(read[Target::kEnergy]);
}

TEST(CorrectionJson, LacksAFigureThatWasNotCorrected) {
  Parsed document = Parsed::parse(OldDocument("adaptation"));
  document.erase("energy");
  const Correction read = CorrectionFromJson(document.dump(), "mine.json");
  EXPECT_FALSE(read[Target::kEnergy]);
  EXPECT_EQ(Parsed::parse(CorrectionToJson(read)), document);
}

TEST(CorrectionJson, TakesADocumentWithoutFormatForAnAdaptation) {
  Parsed document = Parsed::parse(OldDocument("adaptation"));
  document.erase("format");
  const Correction read = CorrectionFromJson(document.dump(), "mine.json");
  EXPECT_EQ(read.terms.level, 0.086712549922129);
  EXPECT_THAT(read.scope.model, IsEmpty());
}

/// Expects that the document of `format` is refused with `value` at `place`.
void ExpectRefused(const std::string& format, const std::string& place,
                   const Parsed& value, const std::string& message,
                   ErrorCode code = ErrorCode::kCorrupt) {
  Parsed document = Parsed::parse(OldDocument(format));
  document[Parsed::json_pointer(place)] = value;
  ExpectError([&] { CorrectionFromJson(document.dump(), "c.json"); }, code,
              message);
}

TEST(CorrectionJson, NamesTheFieldThatIsWrong) {
  ExpectRefused("adaptation", "/schema_version", 2,
                "c.json: schema_version is 2, expected 1",
                ErrorCode::kUnsupported);
  ExpectRefused("adaptation", "/format", "x",
                "expected 'adaptation' or 'calibration'");
  ExpectRefused("adaptation", "/host/factor", 0, "host.factor");
  ExpectRefused("adaptation", "/latency/level", "much", "latency.level");
  ExpectRefused("adaptation", "/latency/lowest_rate", 1e12,
                "latency.highest_rate");
  ExpectRefused("adaptation", "/networks", 0, "networks");
  ExpectRefused("adaptation", "/run/mode", "both", "mode");
  ExpectRefused("adaptation", "/gap_mib", Parsed::array(), "gap_mib");
  ExpectRefused("calibration", "/gap_mib/0/powers", {0, 0},
                "gap_mib[0].powers has 2 numbers, expected 3");
  ExpectRefused("calibration", "/host", Parsed::object(), "host");
  ExpectRefused("calibration", "/step/inputs/0/shape/1/factor", "depth",
                "step.inputs[0].shape[1].factor is 'depth', which is not one "
                "of the factors");
}

TEST(CorrectionJson, RefusesADocumentOfAnotherKind) {
  ExpectError(
      [] { CorrectionFromJson(R"({"factor": 1, "spread": 2})", "h.json"); },
      ErrorCode::kCorrupt,
      "h.json: is a host of `foretell host`, expected an adaptation of "
      "`foretell adapt` or a calibration of `foretell calibrate`");
}

}  // namespace
}  // namespace foretell
