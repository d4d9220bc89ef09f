#include "serve/metrics.h"

#include <fmt/core.h>

namespace foretell::serve {
namespace {

std::string Header(std::string_view name, std::string_view help,
                   std::string_view type) {
  return fmt::format("# HELP foretell_{0} {1}\n# TYPE foretell_{0} {2}\n", name,
                     help, type);
}

std::string Counter(std::string_view name, std::string_view help,
                    std::int64_t value) {
  return fmt::format("{}foretell_{} {}\n", Header(name, help, "counter"), name,
                     value);
}

}  // namespace

void Metrics::CountRequest(std::string_view route, int status, double seconds) {
  const std::scoped_lock lock(mutex_);
  ++requests_[{std::string(route), status}];
  ++count_;
  sum_s_ += seconds;
  for (std::size_t i = 0; i < kBoundsS.size(); ++i) {
    if (seconds <= kBoundsS[i]) ++at_most_[i];
  }
}

void Metrics::CountCacheHit(bool is_hit) {
  const std::scoped_lock lock(mutex_);
  ++(is_hit ? hits_ : misses_);
}

std::string Metrics::Text(std::initializer_list<Gauge> gauges) {
  const std::scoped_lock lock(mutex_);
  std::string text = Header("requests_total", "Requests answered", "counter");
  for (const auto& [key, count] : requests_) {
    text += fmt::format(
        "foretell_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first,
        key.second, count);
  }
  text += Header("request_seconds",
                 "Time from the end of the request body to the answer",
                 "histogram");
  for (std::size_t i = 0; i < kBoundsS.size(); ++i) {
    text += fmt::format("foretell_request_seconds_bucket{{le=\"{}\"}} {}\n",
                        kBoundsS[i], at_most_[i]);
  }
  text += fmt::format(
      "foretell_request_seconds_bucket{{le=\"+Inf\"}} {0}\n"
      "foretell_request_seconds_sum {1}\nforetell_request_seconds_count {0}\n",
      count_, sum_s_);
  text += Counter("cache_hits_total", "Cache hits", hits_);
  text += Counter("cache_misses_total", "Cache misses", misses_);
  for (const Gauge& gauge : gauges) {
    text += fmt::format("{}foretell_{} {}\n",
                        Header(gauge.name, gauge.help, "gauge"), gauge.name,
                        gauge.value);
  }
  return text;
}

}  // namespace foretell::serve
