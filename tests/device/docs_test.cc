// docs/devices.md and docs/adding_a_device.md promise files that work and
// figures that are those of data/.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "foretell/device.h"

namespace foretell {
namespace {

std::string Page(const std::string& name) {
  std::ifstream file(std::string(FORETELL_SOURCE_DIR) + "/docs/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The contents of the page's first ```json block; empty without one.
std::string JsonBlock(const std::string& name) {
  const std::string page = Page(name);
  const std::string open = "```json\n";
  const std::size_t at = page.find(open);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + open.size();
  return page.substr(begin, page.find("```", begin) - begin);
}

TEST(DevicesPage, ShowsADeviceFileThatWorks) {
  const std::string page = "adding_a_device.md";
  DeviceCatalog catalog = DeviceCatalog::BuiltIn();
  catalog.AddDevice(JsonBlock(page), page);
  EXPECT_EQ(catalog.FindDevice("tesla-t4").usable_mib, 14912);
}

TEST(DevicesPage, ShowsAnEnvironmentFileThatWorks) {
  const std::string page = "devices.md";
  DeviceCatalog catalog = DeviceCatalog::BuiltIn();
  catalog.AddContexts(JsonBlock(page), page);
  EXPECT_EQ(catalog.DefaultContext().name, "our-cluster");
}

std::string Number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

TEST(DevicesPage, ListsEveryDeviceWithItsFigures) {
  const std::string page = Page("devices.md");
  for (const DeviceSpec& device : DeviceCatalog::BuiltIn().devices()) {
    const std::size_t begin = page.find("| `" + device.name + "` |");
    ASSERT_NE(begin, std::string::npos) << device.name;
    const std::string row = page.substr(begin, page.find('\n', begin) - begin);
    const auto& peak = device.peak_tflops;
    const std::string figures = "| " + std::to_string(device.sms) + " | " +
                                std::to_string(device.memory_mib) + " | " +
                                Number(device.bandwidth_gb_s) + " | " +
                                Number(peak.at(Precision::kFp32)) + " / " +
                                Number(peak.at(Precision::kTf32)) + " / " +
                                Number(peak.at(Precision::kFp16)) + " | " +
                                Number(device.max_power_w) + " |";
    EXPECT_NE(row.find(figures), std::string::npos)
        << row << "\nshould end in " << figures;
  }
}

TEST(DevicesPage, ListsEveryEnvironmentWithItsContext) {
  const std::string page = Page("devices.md");
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  for (const ContextModel& context : catalog.contexts()) {
    const std::size_t begin = page.find("| `" + context.name + "`");
    ASSERT_NE(begin, std::string::npos) << context.name;
    const std::string row = "| " + Number(context.context_mib.at("*")) + " ± " +
                            Number(context.context_uncertainty_mib) + " |";
    EXPECT_NE(page.find(row, begin), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace foretell
