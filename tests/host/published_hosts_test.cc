#include "src/host/published_hosts.h"

#include <gtest/gtest.h>

namespace foretell::host {
namespace {

TEST(PublishedHosts, AreSortedByFactorAroundTheDefault) {
  double previous = 0;
  for (const std::string_view name : PublishedHostNames()) {
    const HostSpec host = PublishedHost(name).value();
    EXPECT_GT(host.factor, previous) << name;
    EXPECT_GT(host.spread, 1) << name;
    previous = host.factor;
  }
  EXPECT_EQ(PublishedHost("typical"), HostSpec{});
  EXPECT_LT(PublishedHost("fast")->factor, HostSpec{}.factor);
  EXPECT_GT(PublishedHost("slow")->factor, HostSpec{}.factor);
}

TEST(PublishedHosts, AreKnownMoreExactlyThanAnUnknownHost) {
  EXPECT_LT(PublishedHost("fast")->spread, kUnknownHostSpread);
  EXPECT_LT(PublishedHost("slow")->spread, kUnknownHostSpread);
}

TEST(PublishedHosts, AreNoOthers) {
  EXPECT_EQ(PublishedHost("faster"), std::nullopt);
  EXPECT_EQ(PublishedHost(""), std::nullopt);
}

}  // namespace
}  // namespace foretell::host
