#include <nlohmann/json.hpp>

#include "datasets/views/stats.h"
#include "datasets/views/stats_json.h"
#include "src/page/html_page.h"

namespace foretell::dataset {
namespace {

using Json = nlohmann::ordered_json;

/// More dots than these show nothing more, and make the page large.
constexpr std::size_t kMaxDots = 2000;
constexpr std::size_t kOutliersInPage = 100;

Json ToJson(const Scatter& scatter) {
  Json labels = Json::array();
  const std::size_t every = 1 + (scatter.labels.size() - 1) / kMaxDots;
  for (std::size_t i = 0; i < scatter.labels.size(); i += every) {
    labels.push_back({scatter.labels[i].macs, scatter.labels[i].value});
  }
  return {{"title", scatter.title}, {"labels", std::move(labels)}};
}

}  // namespace

std::string StatsToHtml(const Stats& stats) {
  Json document = StatsDocument(stats, kOutliersInPage);
  document["scatters"] = Json::array();
  for (const Scatter& scatter : stats.scatters) {
    if (scatter.labels.empty()) continue;
    document["scatters"].push_back(ToJson(scatter));
  }
  return HtmlPage(PageView::kDataset, stats.path, document);
}

}  // namespace foretell::dataset
