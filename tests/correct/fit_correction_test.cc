#include "src/correct/fit_correction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Target kLatencyAlone[] = {Target::kLatency};

/// A network that waits for the CPU or computes, whichever takes longer.
struct Machine {
  double host = 1;
  double level = 0;
  double exponent = 0;
  double memory_mib = 0;
  double energy_level = 0;
};

/// Of network i: half wait for the CPU.
double PredictedMs(int i, double host) {
  const double gpu_ms = 1 + i;
  return i % 2 == 0 ? std::max(gpu_ms, 8 * gpu_ms * host) : gpu_ms;
}

/// Rates from 1e9 to about 1e10 MACs per ms.
double MacsOf(int i) {
  return 1e9 * PredictedMs(i, 1) * std::exp(2.3 * (i % 7) / 6);
}

PredictedRow RowOf(int i) {
  PredictedRow row{.network = "net" + std::to_string(i),
                   .macs = MacsOf(i),
                   .memory_mib = 1000.0 + 10 * i,
                   .methods = {"analytic", "analytic", "analytic"}};
  for (const double host : HostFactors()) {
    row.latency_ms.push_back(PredictedMs(i, host));
    row.energy_j.push_back(0.2 * PredictedMs(i, host));
  }
  return row;
}

std::vector<PredictedRow> RowsOf(int count, const Machine& machine,
                                 double reference_rate) {
  std::vector<PredictedRow> rows;
  for (int i = 0; i < count; ++i) {
    PredictedRow row = RowOf(i);
    const double ms = PredictedMs(i, machine.host);
    const double factor =
        std::exp(machine.level +
                 machine.exponent * std::log(row.macs / ms / reference_rate));
    row.measured = {row.memory_mib + machine.memory_mib, ms * factor,
                    0.2 * ms * factor * std::exp(machine.energy_level)};
    rows.push_back(std::move(row));
  }
  return rows;
}

TEST(FitCorrection, FindsAKnownHostLevelAndExponent) {
  const Machine machine{.host = 1.5,
                        .level = 0.1,
                        .exponent = -0.06,
                        .memory_mib = 350,
                        .energy_level = -0.2};
  const std::vector<PredictedRow> rows = RowsOf(84, machine, 2e9);
  const CorrectionFit fit = FitCorrection(rows, kAllTargets, {});
  const Correction& found = fit.correction;
  EXPECT_NEAR(found.terms.host.factor, 1.5, 0.02);
  EXPECT_NEAR(found.terms.exponent, -0.06, 0.003);
  // The level at the rate where the truth's is 0.1.
  EXPECT_NEAR(
      found.terms.level +
          found.terms.exponent * std::log(2e9 / found.terms.reference_rate),
      0.1, 0.01);
  EXPECT_NEAR(found.terms.memory_mib, 350, 1);
  EXPECT_NEAR(found.terms.energy_level, -0.2, 0.01);
  EXPECT_THAT(fit.worse, IsEmpty());
  EXPECT_THAT(fit.warnings, IsEmpty());
  EXPECT_EQ(found.rows, 84);
  EXPECT_EQ(found.networks, 84);
  for (const Target target : kAllTargets) {
    EXPECT_LT(found[target]->after.mean, 0.01);
    EXPECT_GT(found[target]->before.mean, 0.1);
    EXPECT_EQ(found[target]->rows, 84);
    EXPECT_LT(*found[target]->half_width, 0.03);
    EXPECT_THAT(found[target]->corrects, ElementsAre("analytic"));
  }
}

TEST(FitCorrection, TellsASlowHostFromASlowDevice) {
  const CorrectionFit slow_host =
      FitCorrection(RowsOf(28, {.host = 1.8}, 1e9), kLatencyAlone, {});
  EXPECT_NEAR(slow_host.correction.terms.host.factor, 1.8, 0.05);
  EXPECT_NEAR(slow_host.correction.terms.level, 0, 0.02);
  const CorrectionFit slow_device = FitCorrection(
      RowsOf(28, {.host = 1, .level = 0.3}, 1e9), kLatencyAlone, {});
  // A slower device slows what waits for the host as well here.
  EXPECT_NEAR(slow_device.correction.terms.host.factor, 1, 0.02);
  EXPECT_NEAR(slow_device.correction.terms.level, 0.3, 0.02);
}

TEST(FitCorrection, StartsFromAMeasuredHost) {
  // Predicted where the host takes 1.2 times as long: 1.8 in all.
  std::vector<PredictedRow> rows = RowsOf(28, {.host = 1.5}, 1e9);
  for (PredictedRow& row : rows) row.host_factor = 1.2;
  const HostSpec start{.name = "mine", .factor = 1.2, .spread = 1.5};
  const Correction found =
      FitCorrection(rows, kLatencyAlone, {.terms = {.host = start}}).correction;
  EXPECT_NEAR(found.terms.host.factor, 1.8, 0.05);
  EXPECT_EQ(found.terms.host.name, "mine");
  EXPECT_LT(found[Target::kLatency]->after.mean, 0.03);
  // Five rows move a host that is known well less than one that is not.
  rows.resize(5);
  const auto moved = [&rows](double spread) {
    return FitCorrection(rows, kLatencyAlone,
                         {.terms = {.host = {.name = "mine",
                                             .factor = 1.2,
                                             .spread = spread}}})
        .correction.terms.host.factor;
  };
  EXPECT_LT(moved(1.05), moved(2) - 0.01);
}

TEST(FitCorrection, LeavesTheHostAloneWhereNoRowWaits) {
  std::vector<PredictedRow> rows = RowsOf(20, {.level = 0.2}, 1e9);
  std::erase_if(rows, [](const PredictedRow& row) {
    return row.latency_ms.front() != row.latency_ms.back();
  });
  const CorrectionFit fit = FitCorrection(rows, kLatencyAlone, {});
  EXPECT_NEAR(fit.correction.terms.host.factor, 1, 1e-3);
}

TEST(FitCorrection, HasNoWidthOfFewRows) {
  const std::vector<PredictedRow> rows = RowsOf(8, {.level = 0.2}, 1e9);
  const Correction found = FitCorrection(rows, kLatencyAlone, {}).correction;
  EXPECT_FALSE(found[Target::kLatency]->half_width);
  EXPECT_GT(found[Target::kLatency]->largest_residual, 0);
  EXPECT_FALSE(found[Target::kMemory]);
  EXPECT_EQ(found.terms.memory_mib, 0);
}

TEST(FitCorrection, SaysThatItMakesScatterWorse) {
  // Right on average, but for scatter: what some rows say misleads others.
  constexpr double kScatter[] = {1.25, 1.25, 0.8, 0.8, 1, 1};
  std::vector<PredictedRow> rows = RowsOf(6, {}, 1e9);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    *rows[i].measured[1] *= kScatter[i];
  }
  const CorrectionFit fit = FitCorrection(rows, kLatencyAlone, {});
  EXPECT_THAT(fit.worse, ElementsAre(Target::kLatency));
  EXPECT_GT(fit.correction[Target::kLatency]->after.mean,
            fit.correction[Target::kLatency]->before.mean);
}

TEST(FitCorrection, LeavesRowsOfANetworkOutTogether) {
  // Three networks of three rows; each network has an error of its own, which
  // its other rows would give away.
  std::vector<PredictedRow> rows = RowsOf(9, {}, 1e9);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].network = "net" + std::to_string(i / 3);
    *rows[i].measured[1] *= std::exp(0.3 * (static_cast<double>(i / 3) - 1));
  }
  const CorrectionFit fit = FitCorrection(rows, kLatencyAlone, {});
  EXPECT_GT(fit.correction[Target::kLatency]->after.mean, 0.2);
  EXPECT_FALSE(fit.correction[Target::kLatency]->half_width);
}

TEST(FitCorrection, WarnsOfRowsThatAreAlike) {
  std::vector<PredictedRow> rows = RowsOf(6, {.level = 0.2}, 1e9);
  for (PredictedRow& row : rows) {
    row.network = "resnet18";
    row.macs = 1e9 * row.latency_ms[8];
  }
  EXPECT_THAT(FitCorrection(rows, kLatencyAlone, {}).warnings,
              ElementsAre(HasSubstr("all rows are of resnet18"),
                          HasSubstr("nearly the same rate")));
}

TEST(FitCorrection, RefusesAFigureThatTooFewRowsHave) {
  std::vector<PredictedRow> rows = RowsOf(6, {}, 1e9);
  rows[0].measured[2].reset();
  rows[1].measured[2].reset();
  ExpectError([&] { FitCorrection(rows, kAllTargets, {}); },
              ErrorCode::kInvalidArgument,
              "4 rows with energy_j, expected at least 5");
}

}  // namespace
}  // namespace foretell
