#include "datasets/collect/order.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "datasets/store/checksum.h"

namespace foretell::dataset {
namespace {

/// The finaliser of SplitMix64: spreads FNV's weak low bits over all others.
std::uint64_t Mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// Position of a point in the order of its mode, from 0 to 1.
struct Place {
  Mode mode;
  double position;
  std::string name;  ///< Decides between equal positions.
  std::size_t index;
};

using Stratum = std::tuple<Mode, std::string, std::int64_t>;

}  // namespace

double UnitHash(std::string_view text, std::uint64_t seed) {
  const auto hash = static_cast<std::uint64_t>(ContentHash(text));
  constexpr int kMantissaBits = 53;
  const std::uint64_t mixed = Mix(hash ^ Mix(seed + 0x9e3779b97f4a7c15));
  return static_cast<double>(mixed >> (64 - kMantissaBits)) * 0x1p-53;
}

std::vector<std::size_t> SamplingOrder(std::span<const Point> points,
                                       std::uint64_t seed) {
  std::map<Stratum, std::vector<std::size_t>> strata;
  for (std::size_t i = 0; i < points.size(); ++i) {
    strata[{points[i].mode, points[i].family, points[i].batch}].push_back(i);
  }
  std::vector<Place> places;
  for (auto& [stratum, members] : strata) {
    const auto& [mode, family, batch] = stratum;
    std::ranges::sort(members, {}, [&](std::size_t i) {
      const std::string name = ToString(points[i]);
      return std::pair(UnitHash(name, seed), name);
    });
    const double offset = UnitHash(fmt::format("{}/{}", family, batch), seed);
    for (std::size_t rank = 0; rank < members.size(); ++rank) {
      const double position = (static_cast<double>(rank) + offset) /
                              static_cast<double>(members.size());
      places.push_back(
          {mode, position, ToString(points[members[rank]]), members[rank]});
    }
  }
  std::ranges::sort(places, {}, [](const Place& place) {
    return std::tuple(place.mode, place.position, place.name);
  });
  std::vector<std::size_t> order;
  for (const Place& place : places) order.push_back(place.index);
  return order;
}

}  // namespace foretell::dataset
