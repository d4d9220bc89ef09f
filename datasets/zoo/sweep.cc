// Sweeps: families × networks × fields × batches, written as data.
//
// A block is the full product of its lists, in the order in which they stand.
// If a published count is not a product of small numbers (547 is prime), a
// block has `take`: that many points are kept, drawn evenly from the product
// by a fixed permutation and listed in the product's order. Nothing random
// remains: the permutation sorts positions by a hash of their number.

#include "datasets/zoo/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "datasets/zoo/selection.h"
#include "datasets/zoo/sweep_files.h"
#include "foretell/error.h"
#include "src/core/numbers.h"
#include "src/core/text.h"

namespace foretell::zoo {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxPoints = 1'000'000;

/// SplitMix64 (Steele, Lea and Flood 2014).
std::uint64_t Hash(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

[[noreturn]] void Refuse(const std::string& place, const std::string& what) {
  throw Error(ErrorCode::kCorrupt, place + ": " + what);
}

const Json& Member(const Json& object, const char* name,
                   const std::string& place) {
  if (!object.is_object() || !object.contains(name)) {
    Refuse(place, fmt::format("no member '{}'", name));
  }
  return object.at(name);
}

/// A value of a field as its text: [2,2] becomes "2,2".
std::string Text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& element : value) {
    if (!text.empty()) text += ',';
    text += element.dump();
  }
  return text;
}

const Json& List(const Json& value, const std::string& place) {
  if (!value.is_array() || value.empty()) {
    Refuse(place, "expected a list with elements, found " + value.dump());
  }
  return value;
}

/// One block's networks with all values of its fields, without batches.
std::vector<std::string> Models(const Json& block, const std::string& place) {
  std::vector<std::string> models;
  for (const Json& name : List(Member(block, "models", place), place)) {
    models.push_back(Text(name));
  }
  if (!block.contains("fields")) return models;
  for (const auto& [field, values] : block.at("fields").items()) {
    std::vector<std::string> longer;
    const std::string where = place + ", fields, " + field;
    for (const std::string& model : models) {
      const char separator = model.find('?') == std::string::npos ? '?' : '&';
      for (const Json& value : List(values, where)) {
        longer.push_back(
            fmt::format("{}{}{}={}", model, separator, field, Text(value)));
      }
    }
    if (longer.size() > kMaxPoints) Refuse(where, "more than 1000000 networks");
    models = std::move(longer);
  }
  return models;
}

/// Keeps `count` of the points, evenly drawn, in their order.
void Take(std::vector<SweepPoint>& points, std::size_t count) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [](std::size_t a, std::size_t b) { return Hash(a) < Hash(b); });
  order.resize(count);
  std::sort(order.begin(), order.end());
  std::vector<SweepPoint> kept;
  for (const std::size_t index : order) kept.push_back(points[index]);
  points = std::move(kept);
}

/// The name without fields that are at their defaults anyway.
SweepPoint Canonical(const std::string& family, const std::string& model,
                     const std::string& place) {
  try {
    const Selection selection = Select(model);
    if (selection.family->name != family) {
      Refuse(place, fmt::format("{} is of family {}, expected {}", model,
                                selection.family->name, family));
    }
    return {.family = family, .model = selection.canonical_name};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCorrupt) throw;
    Refuse(place, error.what());
  }
}

std::vector<SweepPoint> BlockPoints(const std::string& family,
                                    const Json& block,
                                    const std::string& place) {
  std::vector<SweepPoint> points;
  const Json& batches = List(Member(block, "batch", place), place + ", batch");
  for (const std::string& model : Models(block, place)) {
    SweepPoint point = Canonical(family, model, place);
    for (const Json& batch : batches) {
      if (!batch.is_number_integer() || batch.get<std::int64_t>() < 1) {
        Refuse(place + ", batch",
               "expected positive integers, found " + batch.dump());
      }
      point.batch = batch.get<std::int64_t>();
      points.push_back(point);
    }
  }
  if (block.contains("take")) {
    const auto count = block.at("take").get<std::size_t>();
    if (count > points.size()) {
      Refuse(place, fmt::format("takes {} of {}", count,
                                Counted(points.size(), "point")));
    }
    Take(points, count);
  }
  return points;
}

std::vector<SweepPoint> FamilyPoints(const Json& family,
                                     const std::string& place) {
  const auto name = Member(family, "family", place).get<std::string>();
  const std::string where = place + ": family " + name;
  std::vector<SweepPoint> points;
  std::set<std::pair<std::string, std::int64_t>> seen;
  int number = 0;
  for (const Json& block : List(Member(family, "blocks", where), where)) {
    ++number;
    for (SweepPoint& point :
         BlockPoints(name, block, fmt::format("{}, block {}", where, number))) {
      if (seen.emplace(point.model, point.batch).second) {
        points.push_back(std::move(point));
      }
    }
  }
  const auto expected = Member(family, "count", where).get<std::size_t>();
  if (points.size() != expected) {
    Refuse(where, fmt::format("has {}, its count says {}",
                              Counted(points.size(), "point"), expected));
  }
  return points;
}

/// "dippm" of "datasets/sweeps/dippm.json".
std::string_view Stem(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.rfind('.'));
}

}  // namespace

std::vector<SweepPoint> ParseSweep(std::string_view json,
                                   std::string_view file) {
  const std::string place(file);
  try {
    const Json sweep = Json::parse(json);
    std::vector<SweepPoint> points;
    for (const Json& family : List(Member(sweep, "families", place), place)) {
      for (SweepPoint& point : FamilyPoints(family, place)) {
        points.push_back(std::move(point));
      }
    }
    return points;
  } catch (const Json::exception& error) {
    Refuse(place, error.what());
  }
}

std::vector<std::pair<std::string, std::int64_t>> CountFamilies(
    std::span<const SweepPoint> points) {
  std::vector<std::pair<std::string, std::int64_t>> counts;
  for (const SweepPoint& point : points) {
    if (counts.empty() || counts.back().first != point.family) {
      counts.emplace_back(point.family, 0);
    }
    ++counts.back().second;
  }
  return counts;
}

std::vector<std::string> SweepNames() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : SweepFiles()) {
    names.emplace_back(Stem(file.path));
  }
  return names;
}

std::vector<SweepPoint> ListSweep(std::string_view name) {
  for (const EmbeddedFile& file : SweepFiles()) {
    if (Stem(file.path) == name) return ParseSweep(file.bytes, file.path);
  }
  throw Error(ErrorCode::kNotFound, fmt::format("no sweep '{}', there are: {}",
                                                name, Joined(SweepNames())));
}

}  // namespace foretell::zoo
