#pragma once

#include <string>
#include <string_view>

#include "src/core/descriptor.h"

namespace foretell {

/// A private temporary folder, readable by this user only, removed with its
/// content by the destructor, or by Sweep if the process was killed. It is in
/// "foretell-UID", which all processes of the user share.
class WorkFolder {
 public:
  /// Throws Error(kIo). Calls Sweep.
  WorkFolder();
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const;

  /// Removes the folders of processes that have ended. Returns at once if there
  /// are none, or if another process is removing them.
  static void Sweep();

 private:
  std::string path_;
  Descriptor lock_;  ///< Held while the folder is in use.
};

}  // namespace foretell
