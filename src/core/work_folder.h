#pragma once

#include <string>
#include <string_view>

#include "src/core/descriptor.h"

namespace foretell {

/// A folder of its own among the temporary files, which no other user can read,
/// removed with everything in it: by its object, or if the process is killed
/// first, by Sweep. It is in "foretell-UID", with those of other processes of
/// the user.
class WorkFolder {
 public:
  /// Throws Error(kIo). Calls Sweep.
  WorkFolder();
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const;

  /// Removes the folders of processes that have ended. Costs no time if there
  /// are none, and leaves them to another process that does the same.
  static void Sweep();

 private:
  std::string path_;
  Descriptor lock_;  ///< Held while the folder is in use.
};

}  // namespace foretell
