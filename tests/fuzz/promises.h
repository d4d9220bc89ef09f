#pragma once

#include <string>
#include <string_view>

#include "foretell/error.h"

namespace foretell::fuzz {

/// Ends the process, after saying `what`, unless `condition`.
void Require(bool condition, const std::string& what);

/// Requires what every message keeps: it begins with `origin`, is one line, and
/// is no internal error.
void RequireGoodMessage(const Error& error, std::string_view origin);

/// A file of this process in the folder for temporary files, removed when the
/// process ends normally; its name ends in `name`.
class ScratchFile {
 public:
  explicit ScratchFile(std::string_view name);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }
  void Write(std::string_view bytes) const;

 private:
  std::string path_;
};

}  // namespace foretell::fuzz
