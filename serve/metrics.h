#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace foretell::serve {

/// Counters of the service since its start. Thread-safe.
class Metrics {
 public:
  /// Counts an answer of `route` with an HTTP status.
  void CountRequest(std::string_view route, int status, double seconds);
  void CountCacheHit(bool is_hit);

  /// A current value.
  struct Gauge {
    std::string_view name;
    std::string_view help;
    double value = 0;
  };
  /// In Prometheus's text format, version 0.0.4.
  std::string Text(std::initializer_list<Gauge> gauges);

 private:
  static constexpr std::array<double, 12> kBoundsS = {
      0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 60};

  std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::int64_t> requests_;
  std::array<std::int64_t, kBoundsS.size()> at_most_ = {};
  std::int64_t count_ = 0;
  double sum_s_ = 0;
  std::int64_t hits_ = 0;
  std::int64_t misses_ = 0;
};

}  // namespace foretell::serve
