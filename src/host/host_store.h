#pragma once

#include <string>
#include <vector>

#include "src/host/measured_host.h"

namespace foretell::host {

/// Hosts by name, a JSON file each in one folder.
class HostStore {
 public:
  /// Empty: no folder, so no hosts, and Put throws.
  explicit HostStore(std::string folder) : folder_(std::move(folder)) {}
  /// The user's: $XDG_CONFIG_HOME/foretell/hosts, or if that is not an absolute
  /// path $HOME/.config/foretell/hosts; no folder if neither is set.
  static HostStore OfUser();

  /// Writes a host under its name, replacing an existing one, and creates the
  /// folder if it does not exist. Returns the path. Throws what CheckHostName
  /// does, Error(kNotFound) without a folder, and Error(kIo) that names the
  /// path that cannot be written.
  std::string Put(const MeasuredHost& host) const;

  /// The host of this name; if `name` has a '/' or ends in ".json", the one in
  /// that file; if the folder has none, that of PublishedHost. Throws
  /// Error(kNotFound) that lists the known names, and what HostFromJson does.
  MeasuredHost Find(const std::string& name) const;

  /// Names of all files, sorted; empty without a folder.
  std::vector<std::string> Names() const;

 private:
  std::string PathOf(const std::string& name) const;

  std::string folder_;
};

}  // namespace foretell::host
