#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

namespace foretell {

/// Number of a value in PlainData.
using PlainId = std::uint32_t;

/// A value that is data alone: numbers, texts, lists and dictionaries of such.
struct PlainValue {
  enum class Kind : std::uint8_t {
    kOther,  ///< None, Booleans, floating-point numbers, bytes: not kept.
    kInt,
    kText,
    kList,  ///< Tuples too.
    kDict,
  };
  Kind kind = Kind::kOther;
  std::int64_t number = 0;     ///< Of kInt.
  std::string_view text = {};  ///< Of kText; in the document that was read.
  /// Of kList; of kDict keys and values in turn.
  std::vector<PlainId> items = {};
};

/// A document as a table, in which one value may stand in several places, and
/// in itself.
struct PlainData {
  std::vector<PlainValue> values;
  PlainId root = 0;

  const PlainValue& Root() const { return values[root]; }
  /// The value of `key` in `dict`; null if there is none among its first 64
  /// keys, more than any dictionary has whose fields are known.
  const PlainValue* Find(const PlainValue& dict, std::string_view key) const;
};

/// `json` as such a table, in which no value stands twice. Its texts must
/// outlive the table.
PlainData PlainDataOf(const nlohmann::json& json);

}  // namespace foretell
