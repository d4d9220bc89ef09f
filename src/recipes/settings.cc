#include "src/recipes/settings.h"

#include <fmt/core.h>

#include <utility>

#include "foretell/error.h"
#include "src/core/parse_number.h"

namespace foretell::recipes {

void Settings::Set(Setting setting, std::string value, Rank rank,
                   const std::string& file, std::string_view key) {
  const Entry entry = {std::move(value), rank, file, std::string(key)};
  const auto [known, is_new] = entries_.emplace(setting, entry);
  if (is_new || known->second.rank > rank) return;
  if (known->second.rank < rank) {
    known->second = entry;
    return;
  }
  if (rank != Rank::kStated || known->second.value == entry.value) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: {} is {}, but {}", file, key, entry.value,
                          Describe(setting)));
}

const std::string& Settings::Get(Setting setting) const {
  static const std::string kUnset;
  const auto entry = entries_.find(setting);
  return entry == entries_.end() ? kUnset : entry->second.value;
}

bool Settings::IsStated(Setting setting) const {
  const auto entry = entries_.find(setting);
  return entry != entries_.end() && entry->second.rank != Rank::kDefault;
}

std::string Settings::Describe(Setting setting) const {
  const Entry& entry = entries_.at(setting);
  return fmt::format("{}: {} is {}", entry.file, entry.key, entry.value);
}

int Settings::Count(Setting setting) const {
  return ParseNumber<int>(Get(setting)).value_or(0);
}

}  // namespace foretell::recipes
