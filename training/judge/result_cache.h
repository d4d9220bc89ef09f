#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace foretell::training {

/// Caches results of long experiments in a folder, so that a killed one can
/// continue: each is a file {"made_with", "result"}.
class ResultCache {
 public:
  /// `made_with` has everything that results depend on. Creates the folder;
  /// throws Error(kIo).
  ResultCache(std::string folder, nlohmann::json made_with);

  /// The result `name`; empty if it is missing, cannot be read, or was made
  /// with something else.
  std::optional<nlohmann::json> Find(const std::string& name) const;
  /// Throws Error(kIo).
  void Put(const std::string& name, const nlohmann::json& result) const;

 private:
  std::string PathOf(const std::string& name) const;

  std::string folder_;
  nlohmann::json made_with_;
};

}  // namespace foretell::training
