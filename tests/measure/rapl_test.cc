#include "src/measure/rapl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace foretell::measure {
namespace {

using testing::HasSubstr;

/// A power capping tree of our own.
class Rapl : public testing::Test {
 protected:
  Rapl() { std::filesystem::create_directories(folder_); }
  ~Rapl() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& package, std::int64_t energy_uj,
             std::int64_t range_uj = 1'000'000'000) {
    std::filesystem::create_directories(folder_ / package);
    std::ofstream(folder_ / package / "energy_uj") << energy_uj << "\n";
    std::ofstream(folder_ / package / "max_energy_range_uj")
        << range_uj << "\n";
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(Rapl, SumsPackagesButNotTheirParts) {
  Write("intel-rapl:0", 1'000'000);
  Write("intel-rapl:0:1", 7'000'000);
  Write("intel-rapl:1", 2'000'000);
  const auto rapl = RaplCounter::Open(folder_);
  ASSERT_TRUE(rapl.has_value()) << rapl.reason;
  EXPECT_EQ((*rapl.value)->ReadJ().value, 0.0);
  Write("intel-rapl:0", 4'000'000);
  Write("intel-rapl:0:1", 9'000'000);
  Write("intel-rapl:1", 2'500'000);
  EXPECT_DOUBLE_EQ((*rapl.value)->ReadJ().value.value(), 3.5);
}

TEST_F(Rapl, CountsOnWhenAPackageWraps) {
  Write("intel-rapl:0", 9'000'000, 10'000'000);
  const auto rapl = RaplCounter::Open(folder_);
  ASSERT_TRUE(rapl.has_value());
  Write("intel-rapl:0", 1'000'000, 10'000'000);
  EXPECT_DOUBLE_EQ((*rapl.value)->ReadJ().value.value(), 2);
  Write("intel-rapl:0", 3'000'000, 10'000'000);
  EXPECT_DOUBLE_EQ((*rapl.value)->ReadJ().value.value(), 4);
}

TEST_F(Rapl, SaysWhatCannotBeRead) {
  EXPECT_THAT(RaplCounter::Open(folder_).reason, HasSubstr("no package"));
  EXPECT_THAT(RaplCounter::Open("/nowhere").reason, HasSubstr("/nowhere"));
  Write("intel-rapl:0", 1);
  std::ofstream(folder_ / "intel-rapl:0" / "energy_uj") << "";
  EXPECT_THAT(RaplCounter::Open(folder_).reason, HasSubstr("energy_uj"));
}

TEST_F(Rapl, FailsWhenAPackageVanishes) {
  Write("intel-rapl:0", 1);
  const auto rapl = RaplCounter::Open(folder_);
  ASSERT_TRUE(rapl.has_value());
  std::filesystem::remove_all(folder_ / "intel-rapl:0");
  EXPECT_FALSE((*rapl.value)->ReadJ().has_value());
}

}  // namespace
}  // namespace foretell::measure
