#include "cli/print/print_zoo.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "datasets/zoo/sweep.h"

namespace foretell::cli {
namespace {

using ZooJson = nlohmann::ordered_json;

std::string Document(const ZooJson& json) { return json.dump(2) + "\n"; }

}  // namespace

std::string FormatNames(const std::vector<std::string>& names, bool as_json) {
  if (as_json) return Document(names);
  std::string text;
  for (const std::string& name : names) text += fmt::format("{}\n", name);
  return text;
}

std::string FormatPoints(std::span<const zoo::SweepPoint> points,
                         bool as_json) {
  auto json = ZooJson::array();
  std::string text;
  for (const zoo::SweepPoint& point : points) {
    const std::string model = fmt::format("{}{}", zoo::kPrefix, point.model);
    text += fmt::format("{} --batch {}\n", model, point.batch);
    json.push_back(
        {{"family", point.family}, {"model", model}, {"batch", point.batch}});
  }
  return as_json ? Document(json) : text;
}

std::string FormatCounts(std::span<const zoo::SweepPoint> points,
                         bool as_json) {
  auto json = ZooJson::object();
  std::string text;
  for (const auto& [family, count] : zoo::CountFamilies(points)) {
    json[family] = count;
    text += fmt::format("{} {}\n", family, count);
  }
  if (as_json) return Document(json);
  return text + fmt::format("total {}\n", points.size());
}

std::string FormatDescription(const zoo::Description& description) {
  return Document({{"family", description.family},
                   {"configuration", ZooJson::parse(description.json)}});
}

}  // namespace foretell::cli
