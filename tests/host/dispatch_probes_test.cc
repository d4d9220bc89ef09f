#include "src/host/dispatch_probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "src/host/measured_host.h"

namespace foretell::host {
namespace {

TEST(DispatchProbes, CanAllBeCalled) {
  for (const Probe& probe : DispatchProbes()) {
    EXPECT_NO_THROW(probe.call()) << probe.what.probe << probe.what.tensors;
  }
}

TEST(DispatchProbes, AreOfEveryKindOnBothDevicesWithAndWithoutAutograd) {
  std::set<std::string> kinds;
  std::set<std::tuple<std::string, std::string, bool>> calls;
  for (const Probe& probe : DispatchProbes()) {
    kinds.insert(probe.what.kind);
    calls.insert({probe.what.probe, probe.what.tensors, probe.what.grad});
  }
  EXPECT_THAT(kinds, testing::IsSupersetOf({"elementwise", "product", "view",
                                            "reduction", "layer"}));
  EXPECT_EQ(calls.size(), DispatchProbes().size());
  for (const char* tensors : {"cpu", "meta"}) {
    EXPECT_TRUE(calls.contains({"add", tensors, true}));
    EXPECT_TRUE(calls.contains({"add", tensors, false}));
  }
}

TEST(DispatchProbes, AreThoseOfTheReference) {
  for (const Probe& probe : DispatchProbes()) {
    EXPECT_NE(FindProbe(ReferenceHost(), probe.what), nullptr)
        << probe.what.probe << " " << probe.what.tensors;
  }
}

}  // namespace
}  // namespace foretell::host
