#include "cli/commands/memory_file.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/core/failure.h"

namespace foretell::cli {

MemoryFile::MemoryFile(std::string_view bytes)
    : descriptor_(memfd_create("model", MFD_CLOEXEC)) {
  while (!bytes.empty()) {
    const ssize_t written =
        write(descriptor_.number(), bytes.data(), bytes.size());
    if (written <= 0) {
      throw IoFailure("the file does not fit into memory");
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string MemoryFile::path() const {
  return fmt::format("/proc/self/fd/{}", descriptor_.number());
}

}  // namespace foretell::cli
