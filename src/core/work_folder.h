#pragma once

#include <string>

namespace foretell {

/// A folder of its own among the temporary files, which nobody else can read,
/// removed with everything in it.
class WorkFolder {
 public:
  /// Throws Error(kIo).
  WorkFolder();
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const;

 private:
  std::string path_;
};

}  // namespace foretell
