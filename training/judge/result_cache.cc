#include "training/judge/result_cache.h"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/output_file.h"

namespace foretell::training {

using Json = nlohmann::json;

namespace {

constexpr std::int64_t kMaxResultBytes = std::int64_t{1} << 30;

}  // namespace

ResultCache::ResultCache(std::string folder, Json made_with)
    : folder_(std::move(folder)), made_with_(std::move(made_with)) {
  std::error_code failure;
  std::filesystem::create_directories(folder_, failure);
  if (failure) {
    throw IoFailure("{}: cannot be made: {}", folder_, failure.message());
  }
}

std::string ResultCache::PathOf(const std::string& name) const {
  return fmt::format("{}/{}.json", folder_, name);
}

std::optional<Json> ResultCache::Find(const std::string& name) const {
  const std::optional<std::string> text =
      ReadFileIfAny(PathOf(name), kMaxResultBytes);
  if (!text) return std::nullopt;
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("result") ||
      json.value("made_with", Json()) != made_with_) {
    return std::nullopt;
  }
  return json["result"];
}

void ResultCache::Put(const std::string& name, const Json& result) const {
  WriteWhole(PathOf(name),
             Json{{"made_with", made_with_}, {"result", result}}.dump() + "\n");
}

}  // namespace foretell::training
