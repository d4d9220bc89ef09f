#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/measure/energy_counter.h"

namespace foretell::measure {

/// Energy of all processor packages, from Linux's power capping tree
/// (`intel-rapl:N/energy_uj`, AMD's too). The hardware counters wrap; this one
/// does not if it is read more often than they wrap (every minute or two).
class RaplCounter final : public EnergyCounter {
 public:
  /// The packages under `folder`, or the reason why none can be read (on most
  /// machines only root may).
  static Reading<std::shared_ptr<RaplCounter>> Open(
      const std::filesystem::path& folder);

  Reading<double> ReadJ() override;
  std::string source() const override { return "rapl"; }

 private:
  struct Package {
    std::filesystem::path file;
    std::int64_t range_uj = 0;  ///< The counter wraps after it.
    std::int64_t last_uj = 0;
  };
  explicit RaplCounter(std::vector<Package> packages)
      : packages_(std::move(packages)) {}

  std::vector<Package> packages_;
  std::int64_t total_uj_ = 0;
};

}  // namespace foretell::measure
