#include "src/host/published_hosts.h"

#include <gtest/gtest.h>

namespace foretell::host {
namespace {

constexpr int kAmpere = 80;
constexpr int kAda = 89;
constexpr int kHopper = 90;
constexpr int kBlackwell = 120;

HostSpec Of(int compute_capability, const Run& run = {}) {
  return DefaultHost({.compute_capability = compute_capability}, run);
}

TEST(PublishedHosts, AreSortedByFactor) {
  double previous = 0;
  for (const std::string_view name : PublishedHostNames()) {
    const HostSpec host = PublishedHost(name).value();
    EXPECT_EQ(host.name, name);
    EXPECT_GT(host.factor, previous) << name;
    EXPECT_GT(host.spread, 1) << name;
    previous = host.factor;
  }
  EXPECT_EQ(PublishedHost("typical")->factor, 1);
}

TEST(PublishedHosts, AreNoOthers) {
  EXPECT_EQ(PublishedHost("faster"), std::nullopt);
  EXPECT_EQ(PublishedHost(""), std::nullopt);
}

TEST(DefaultHost, IsTypicalBeforeHopper) {
  EXPECT_EQ(Of(kAmpere).factor, 1);
  EXPECT_EQ(Of(kAda), Of(kAmpere));
  EXPECT_FALSE(Of(kAmpere).IsNamed());
}

TEST(DefaultHost, IsFasterSinceHopper) {
  EXPECT_LT(Of(kHopper).factor, Of(kAda).factor);
  EXPECT_EQ(Of(kBlackwell), Of(kHopper));
}

TEST(DefaultHost, IsFasterOnlyForWhatPythonCalls) {
  EXPECT_EQ(Of(kHopper, {.host = Host::kCpp}), Of(kAmpere));
  for (const Runtime engine : {Runtime::kOnnxRuntime, Runtime::kTensorRt}) {
    EXPECT_EQ(Of(kHopper, {.runtime = {.runtime = engine}}), Of(kAmpere));
  }
  EXPECT_EQ(Of(kHopper, {.runtime = {.runtime = Runtime::kCompile}}),
            Of(kHopper));
}

TEST(DefaultHost, IsKnownLessThanANamedThirdOfHosts) {
  for (const int capability : {kAmpere, kHopper}) {
    for (const std::string_view name : PublishedHostNames()) {
      EXPECT_GT(Of(capability).spread, PublishedHost(name)->spread) << name;
    }
  }
}

}  // namespace
}  // namespace foretell::host
