#pragma once

#include <string>
#include <vector>

#include "src/host/measured_host.h"

namespace foretell::host {

/// Hosts by name, a JSON file each in one folder.
class HostStore {
 public:
  /// Empty: no folder, which has no hosts and takes none.
  explicit HostStore(std::string folder) : folder_(std::move(folder)) {}
  /// The user's: $XDG_CONFIG_HOME/foretell/hosts, where that is no absolute
  /// path $HOME/.config/foretell/hosts; no folder where neither is set.
  static HostStore OfUser();

  /// Writes a host under its name, in place of one that had it, and makes the
  /// folder where there is none. Returns the path. Throws what CheckHostName
  /// does, Error(kNotFound) without a folder, and Error(kIo) that names what
  /// cannot be written.
  std::string Put(const MeasuredHost& host) const;

  /// The host of this name; where `name` has a '/' or ends in ".json", the one
  /// in that file. Throws Error(kNotFound) that lists the names there are, and
  /// what HostFromJson does.
  MeasuredHost Find(const std::string& name) const;

  /// Names of all files, sorted; none where there is no folder.
  std::vector<std::string> Names() const;

 private:
  std::string PathOf(const std::string& name) const;

  std::string folder_;
};

}  // namespace foretell::host
