#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace foretell::exported {

using Json = nlohmann::json;

/// A JSON document of an archive, read strictly: a requested field must exist
/// and have the right type. Fields that are not requested are ignored, because
/// a newer minor version of the format may add some.
///
/// All methods throw Error(kCorrupt) that names the file, the place and what is
/// wrong there.
class Document {
 public:
  /// Parses `text` by ParseJson, nested to kMostLevels and of kMostValues
  /// values at most. Metadata that nothing here reads is dropped while it is
  /// parsed.
  Document(std::string_view text, std::string origin);

  const Json& root() const { return root_; }
  /// What is being read, for messages: "node 'conv2d'".
  void SetPlace(std::string place) { place_ = std::move(place); }
  const std::string& place() const { return place_; }

  const Json& Member(const Json& object, std::string_view key) const;
  /// Null if the member is missing or null.
  const Json* Find(const Json& object, std::string_view key) const;
  std::string Text(const Json& object, std::string_view key) const;
  std::int64_t Int(const Json& object, std::string_view key) const;
  bool Bool(const Json& object, std::string_view key) const;
  const Json& List(const Json& object, std::string_view key) const;
  const Json& Object(const Json& object, std::string_view key) const;

  std::string ToText(const Json& value) const;
  std::int64_t ToInt(const Json& value) const;
  /// Also the words "Infinity", "-Infinity" and "NaN", which stand for numbers
  /// that JSON lacks.
  double ToDouble(const Json& value) const;
  bool ToBool(const Json& value) const;
  const Json& ToList(const Json& value) const;
  /// Name and content of a union, which is an object with one member.
  std::pair<std::string, const Json*> ToUnion(const Json& value) const;

  [[noreturn]] void Fail(const std::string& problem) const;
  /// The same with kUnsupported.
  [[noreturn]] void Refuse(const std::string& problem) const;

 private:
  std::string InPlace(const std::string& problem) const;

  Json root_;
  std::string origin_;
  std::string place_;
};

/// Each nested graph takes seven levels.
inline constexpr std::size_t kMostLevels = 160;
inline constexpr std::size_t kMostValues = 20'000'000;

}  // namespace foretell::exported
