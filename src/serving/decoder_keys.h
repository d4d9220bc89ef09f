#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace foretell::serving {

/// The keys of a decoder's config.json, with the defaults of its model_type.
class DecoderKeys {
 public:
  /// Of a network that reads more than text, the part that writes it
  /// (`text_config`). Throws Error(kCorrupt) if that is not an object.
  DecoderKeys(const nlohmann::json& config, std::string_view origin);

  const std::string& model_type() const { return model_type_; }
  const std::string& origin() const { return origin_; }
  /// The value of the first of "a|b.c" that is given and not null; null if none
  /// is.
  const nlohmann::json* Find(std::string_view keys) const;
  bool Has(std::string_view keys) const { return Find(keys) != nullptr; }
  /// A whole number of 0 to 2^40, or `absent`; a text ("auto") counts as
  /// absent. Throws Error(kCorrupt) for anything else.
  std::int64_t Number(std::string_view keys, std::int64_t absent) const;
  /// As Number; throws Error(kCorrupt) if it is absent or 0.
  std::int64_t Required(std::string_view keys) const;
  bool Flag(std::string_view keys, bool absent) const;
  /// A list of texts or of whole numbers; empty if absent.
  std::vector<std::string> Texts(std::string_view keys) const;
  std::vector<std::int64_t> Numbers(std::string_view keys) const;

  [[noreturn]] void Refuse(const std::string& problem) const;

 private:
  [[noreturn]] void Fail(std::string_view keys, const nlohmann::json* value,
                         std::string_view expected) const;

  std::string origin_;
  std::string model_type_;
  nlohmann::json config_;
};

/// What each layer keeps, in order: "full", "window", "chunk", "state", "both"
/// (full and state) or "none".
///
/// Throws Error(kUnsupported) for a word that no list of layers has had.
std::vector<std::string> LayerWords(const DecoderKeys& keys);

/// Bytes of one layer's state. Throws Error(kUnsupported) if no keys state its
/// size.
std::int64_t StateBytesOf(const DecoderKeys& keys);

}  // namespace foretell::serving
