#include <gtest/gtest.h>

#include <cmath>

#include "src/host/measured_host.h"
#include "tests/graph/expect_error.h"

namespace foretell::host {
namespace {

ProbeTime Took(const std::string& probe, double us,
               const std::string& tensors = "cpu", bool grad = false) {
  return {.probe = probe, .tensors = tensors, .grad = grad, .us = us};
}

MeasuredHost Reference(double factor) {
  return {
      .spec = {.name = "reference", .factor = factor, .spread = 1},
      .probes = {Took("add", 1), Took("add", 2, "meta"),
                 Took("add", 4, "cpu", true), Took("mm", 8), Took("sum", 16)}};
}

TEST(CompareHosts, TakesTheMedianRatio) {
  // Ratios 1, 2, 4, 2, 2: the median is 2 and most are at it.
  const HostSpec host =
      CompareHosts(std::vector{Took("add", 1), Took("add", 4, "meta"),
                               Took("add", 16, "cpu", true), Took("mm", 16),
                               Took("sum", 32)},
                   Reference(1));
  EXPECT_DOUBLE_EQ(host.factor, 2);
  EXPECT_DOUBLE_EQ(host.spread, 1);
  EXPECT_FALSE(host.IsNamed());
}

TEST(CompareHosts, GivesASpreadByWhatOperatorsDisagree) {
  // Ratios 1, 2, 4: their logarithms lie log 2 from the median.
  const HostSpec host =
      CompareHosts(std::vector{Took("add", 1), Took("mm", 16), Took("sum", 64)},
                   Reference(1));
  EXPECT_DOUBLE_EQ(host.factor, 2);
  EXPECT_NEAR(host.spread, std::pow(2, 1.4826), 1e-12);
}

TEST(CompareHosts, KnowsNoFactorBetterThanTheReferences) {
  MeasuredHost reference = Reference(1);
  reference.spec.spread = std::exp(3);
  EXPECT_NEAR(CompareHosts(reference.probes, reference).spread, std::exp(3),
              1e-9);
  // Ratios 1, e^4: the median deviation of the logarithms is 2.
  const double deviation = 1.4826 * 2;
  EXPECT_NEAR(
      CompareHosts(std::vector{Took("add", 1), Took("mm", 8 * std::exp(4))},
                   reference)
          .spread,
      std::exp(std::hypot(3, deviation)), 1e-9);
}

TEST(CompareHosts, StartsFromTheFactorOfTheReference) {
  const std::vector<ProbeTime> half = {Took("add", 0.5), Took("mm", 4)};
  EXPECT_DOUBLE_EQ(CompareHosts(half, Reference(1)).factor, 0.5);
  EXPECT_DOUBLE_EQ(CompareHosts(half, Reference(1.5)).factor, 0.75);
}

TEST(CompareHosts, ComparesCallsOfTheSameKindAlone) {
  // Only the call with autograd has a counterpart: 12 / 4.
  EXPECT_DOUBLE_EQ(
      CompareHosts(std::vector{Took("add", 12, "cpu", true), Took("new", 1),
                               Took("mm", 1, "meta")},
                   Reference(1))
          .factor,
      3);
}

TEST(CompareHosts, RefusesWhatCannotBeCompared) {
  ExpectError([] { CompareHosts({}, Reference(1)); },
              ErrorCode::kInvalidArgument, "none of 0 operators was timed");
  ExpectError([] { CompareHosts(std::vector{Took("new", 1)}, Reference(1)); },
              ErrorCode::kInvalidArgument, "reference host 'reference'");
  ExpectError([] { CompareHosts(std::vector{Took("mm", 0)}, Reference(1)); },
              ErrorCode::kInvalidArgument, "mm on cpu tensors took 0 us");
}

}  // namespace
}  // namespace foretell::host
