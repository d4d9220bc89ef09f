#include "src/core/work_folder.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "foretell/error.h"
#include "src/core/descriptor.h"

namespace foretell {

WorkFolder::WorkFolder() {
  std::error_code failed;
  const std::filesystem::path place =
      std::filesystem::temp_directory_path(failed);
  path_ = (failed ? "/tmp" : place) / "foretell-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) {
    throw Error(ErrorCode::kIo, fmt::format("{}: cannot be made: {}", path_,
                                            SystemMessage(errno)));
  }
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string WorkFolder::operator/(std::string_view name) const {
  return fmt::format("{}/{}", path_, name);
}

}  // namespace foretell
