#include "src/cost/power.h"

#include <gtest/gtest.h>

#include "tests/cost/test_device.h"

namespace foretell::cost {
namespace {

TEST(Power, GrowsWithUtilisationUpToTheLimit) {
  const DeviceSpec device = test::RoundDevice();
  const Machine machine = MakeMachine(device, {});
  EXPECT_DOUBLE_EQ(IdlePowerW(machine), 50);
  EXPECT_DOUBLE_EQ(GapPowerW(machine), 50 + 200 * 0.10);
  EXPECT_DOUBLE_EQ(BusyPowerW(machine, 0, 0), 50 + 200 * 0.55);
  EXPECT_DOUBLE_EQ(BusyPowerW(machine, 0.5, 0), 50 + 200 * 0.85);
  EXPECT_DOUBLE_EQ(BusyPowerW(machine, 0, 0.5), 50 + 200 * 0.65);
  EXPECT_DOUBLE_EQ(BusyPowerW(machine, 1, 1), 250);
}

TEST(Power, OfASliceIsItsShareOfTheBoard) {
  const DeviceSpec device = test::RoundDevice();
  const Machine half = MakeMachine(device, {.sms = 50});
  EXPECT_DOUBLE_EQ(IdlePowerW(half), 25);
  EXPECT_DOUBLE_EQ(BusyPowerW(half, 1, 1), 125);
}

}  // namespace
}  // namespace foretell::cost
