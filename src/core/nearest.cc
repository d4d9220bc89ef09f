#include "src/core/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/core/ignoring_case.h"

namespace foretell {
namespace {

/// Letters of `name` that may differ for it to be meant: two, one in names of
/// up to three letters, a third of long ones. Leading dashes do not count.
std::size_t MostDifferent(std::string_view name) {
  const std::size_t letters =
      name.size() - std::min(name.find_first_not_of('-'), name.size());
  return letters <= 3 ? std::min<std::size_t>(letters, 1)
                      : std::max<std::size_t>(2, letters / 3);
}

std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[k - 1] ? 0 : 1);
      diagonal = row[k];
      row[k] = std::min({row[k] + 1, row[k - 1] + 1, replaced});
    }
  }
  return row.back();
}

/// How far `known` is from what was meant: not at all where it goes on from
/// there, and never beyond the limit where it is the beginning.
std::size_t DistanceFrom(std::string_view meant, std::string_view known) {
  constexpr std::size_t kLeastLetters = 4;
  const bool has_letters =
      meant.find_first_not_of('-') != std::string_view::npos;
  if (has_letters && known.starts_with(meant)) return 0;
  const std::size_t distance = Distance(meant, known);
  const bool is_beginning =
      known.size() >= kLeastLetters && meant.starts_with(known);
  return is_beginning ? std::min(distance, MostDifferent(meant)) : distance;
}

}  // namespace

std::vector<std::string> Nearest(std::string_view name,
                                 std::span<const std::string> known,
                                 std::size_t count) {
  // Nothing is that long, and the work grows with it.
  constexpr std::size_t kMostLetters = 100;
  const std::string meant = LowerCase(name.substr(0, kMostLetters));
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& one : known) {
    const std::string small = LowerCase(one);
    const std::size_t distance = DistanceFrom(meant, small);
    if (distance <= MostDifferent(meant)) near.emplace_back(distance, one);
  }
  std::ranges::sort(near);
  near.resize(std::min(count, near.size()));
  std::vector<std::string> names;
  for (auto& [distance, one] : near) names.push_back(std::move(one));
  return names;
}

}  // namespace foretell
