#include "serve/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretell::serve {
namespace {

using testing::HasSubstr;

TEST(Metrics, AreWhatPrometheusReads) {
  Metrics metrics;
  metrics.CountRequest("/v1/predict", 200, 0.015);
  metrics.CountRequest("/v1/predict", 200, 0.25);
  metrics.CountRequest("/v1/fits", 422, 100);
  metrics.CountCacheHit(true);
  const std::string text = metrics.Text({{"queue", "Requests waiting", 3}});
  for (const char* line :
       {"# TYPE foretell_requests_total counter\n",
        "foretell_requests_total{route=\"/v1/predict\",status=\"200\"} 2\n",
        "foretell_requests_total{route=\"/v1/fits\",status=\"422\"} 1\n",
        "foretell_request_seconds_bucket{le=\"0.01\"} 0\n",
        "foretell_request_seconds_bucket{le=\"0.02\"} 1\n",
        "foretell_request_seconds_bucket{le=\"0.5\"} 2\n",
        "foretell_request_seconds_bucket{le=\"60\"} 2\n",
        "foretell_request_seconds_bucket{le=\"+Inf\"} 3\n",
        "foretell_request_seconds_sum 100.265\n",
        "foretell_request_seconds_count 3\n", "foretell_cache_hits_total 1\n",
        "foretell_cache_misses_total 0\n",
        "# HELP foretell_queue Requests waiting\n"
        "# TYPE foretell_queue gauge\nforetell_queue 3\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace foretell::serve
