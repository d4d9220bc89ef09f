#include "src/core/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace foretell {
namespace {

std::string InSmallLetters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return small;
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

}  // namespace

std::vector<std::string> Nearest(std::string_view name,
                                 std::span<const std::string> known,
                                 std::size_t count) {
  // Nothing is that long, and the work grows with it.
  constexpr std::size_t kMostLetters = 100;
  const std::string meant = InSmallLetters(name.substr(0, kMostLetters));
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& one : known) {
    const std::string small = InSmallLetters(one);
    const bool goes_on = !meant.empty() && small.starts_with(meant);
    near.emplace_back(goes_on ? 0 : Distance(meant, small), one);
  }
  std::ranges::sort(near);
  near.resize(std::min(count, near.size()));
  std::vector<std::string> names;
  for (auto& [distance, one] : near) names.push_back(std::move(one));
  return names;
}

}  // namespace foretell
