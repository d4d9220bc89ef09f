#include "src/device/local_gpu.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "foretell/device.h"

namespace foretell::device {
namespace {

/// A folder as the driver makes it, deleted at the end.
class DriverFolder {
 public:
  DriverFolder()
      : path_(std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~DriverFolder() { std::filesystem::remove_all(path_); }

  void Add(const std::string& bus, const std::string& information) const {
    std::filesystem::create_directories(path_ / bus);
    std::ofstream(path_ / bus / "information") << information;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(LocalGpu, IsEmptyWithoutADriver) {
  EXPECT_EQ(LocalGpuModel("/no/such/folder"), "");
}

TEST(LocalGpu, ReadsTheModelOfTheFirstBus) {
  const DriverFolder driver;
  driver.Add("0000:41:00.0", "Model: \t\t NVIDIA A30\nIRQ:   1\n");
  driver.Add("0000:01:00.0",
             "IRQ:   33\nModel: \t\t NVIDIA GeForce RTX 4090\n");
  const std::string model = LocalGpuModel(driver.path());
  EXPECT_EQ(model, "NVIDIA GeForce RTX 4090");
  EXPECT_EQ(DeviceCatalog::BuiltIn().FindDevice(model).name, "rtx-4090");
}

TEST(LocalGpu, IsEmptyWhereNoModelIsSaid) {
  const DriverFolder driver;
  driver.Add("0000:01:00.0", "IRQ: 33\nModel:\n");
  EXPECT_EQ(LocalGpuModel(driver.path()), "");
}

}  // namespace
}  // namespace foretell::device
