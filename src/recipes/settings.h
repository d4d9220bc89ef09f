#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "src/recipes/formats.h"

namespace foretell::recipes {

/// How a setting was stated; later ones take precedence.
enum class Rank : std::uint8_t {
  kDefault,  ///< By a tool, for a missing key.
  kYielding,
  kStated,
};

/// What all files of a run set.
class Settings {
 public:
  /// Sets `setting` to `value`, which key `key` of `file` states, unless it is
  /// set with a higher rank, or with kDefault already. Throws
  /// Error(kInvalidArgument) that names both files, keys and values if it has
  /// another value of the same rank.
  void Set(Setting setting, std::string value, Rank rank,
           const std::string& file, std::string_view key);

  /// The value of `setting`; empty if unset.
  const std::string& Get(Setting setting) const;
  bool Is(Setting setting, std::string_view value) const {
    return Get(setting) == value;
  }
  bool Has(Setting setting) const { return !Get(setting).empty(); }
  /// Whether a file states it, in contrast to a tool's default.
  bool IsStated(Setting setting) const;
  /// "file: key is value", for messages. Requires Has.
  std::string Describe(Setting setting) const;
  /// The value as a number, 0 if unset. Requires that it came from kCount.
  int Count(Setting setting) const;

 private:
  struct Entry {
    std::string value;
    Rank rank = Rank::kDefault;
    std::string file;
    std::string key;
  };

  std::map<Setting, Entry> entries_;
};

}  // namespace foretell::recipes
