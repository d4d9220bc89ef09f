#include "src/measure/device_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "foretell/zoo.h"

namespace foretell::measure {
namespace {

TEST(DeviceSuite, NamesStepsOfTheZooOnceEach) {
  std::set<std::tuple<std::string, std::int64_t, Precision>> seen;
  for (const SuiteStep& step : DeviceSuite()) {
    EXPECT_NO_THROW(zoo::Load(step.model)) << step.model;
    EXPECT_TRUE(seen.emplace(step.model, step.batch, step.precision).second)
        << step.model;
  }
}

TEST(DeviceSuite, HoldsOutAndKeepsStepsOfEveryPrecision) {
  std::map<Precision, int> kept;
  std::map<Precision, int> held_out;
  const std::vector<SuiteStep> steps = DeviceSuite();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    ++((i + 1) % 3 == 0 ? held_out : kept)[steps[i].precision];
  }
  EXPECT_EQ(kept.size(), 4u);
  EXPECT_EQ(held_out.size(), 4u);
}

}  // namespace
}  // namespace foretell::measure
