#include "cli/flags/read_text.h"

#include "src/core/files.h"
#include "src/core/units.h"

namespace foretell::cli {
namespace {

/// A thousand times what a file of devices or flags takes.
constexpr std::int64_t kMaxTextBytes = 16 * kMiB;

}  // namespace

std::string ReadText(const std::string& path) {
  return ReadFile(path, kMaxTextBytes);
}

}  // namespace foretell::cli
