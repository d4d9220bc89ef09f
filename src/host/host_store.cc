#include "src/host/host_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/output_file.h"
#include "src/core/printable.h"
#include "src/core/text.h"
#include "src/host/published_hosts.h"

namespace foretell::host {
namespace {

namespace fs = std::filesystem;

constexpr char kSuffix[] = ".json";
constexpr char kFolder[] = "foretell/hosts";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsPath(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(kSuffix);
}

MeasuredHost ReadHost(const std::string& path) {
  return HostFromJson(ReadText(path), path);
}

}  // namespace

HostStore HostStore::OfUser() {
  const fs::path configuration = Variable("XDG_CONFIG_HOME");
  if (configuration.is_absolute()) return HostStore(configuration / kFolder);
  const std::string home = Variable("HOME");
  if (home.empty()) return HostStore("");
  return HostStore(fs::path(home) / ".config" / kFolder);
}

std::string HostStore::PathOf(const std::string& name) const {
  return fmt::format("{}/{}{}", folder_, name, kSuffix);
}

std::string HostStore::Put(const MeasuredHost& host) const {
  CheckHostName(host.spec.name);
  if (folder_.empty()) {
    throw NotFound(
        "no folder for hosts: neither XDG_CONFIG_HOME nor HOME is set");
  }
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) {
    throw IoFailure("{}: cannot be created: {}", folder_, failure.message());
  }
  const std::string path = PathOf(host.spec.name);
  WriteWhole(path, HostToJson(host) + "\n");
  return path;
}

MeasuredHost HostStore::Find(const std::string& name) const {
  if (IsPath(name)) return ReadHost(name);
  const std::vector<std::string> names = Names();
  if (std::ranges::find(names, name) != names.end()) {
    return ReadHost(PathOf(name));
  }
  if (const std::optional<HostSpec> published = PublishedHost(name)) {
    return {.spec = *published};
  }
  throw NotFound(
      "host '{}' is unknown; known are: python, cpp, {}{}{}; `foretell host "
      "--name NAME` adds one",
      name, fmt::join(PublishedHostNames(), ", "), names.empty() ? "" : ", ",
      Joined(names));
}

std::vector<std::string> HostStore::Names() const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder_, ignored)) {
    if (entry.path().extension() != kSuffix) continue;
    names.push_back(Printable(entry.path().stem().string()));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace foretell::host
