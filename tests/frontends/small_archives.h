#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace foretell::torchscript {

/// A TorchScript file of about a kilobyte, for tests that damage it in every
/// way.
struct SmallArchive {
  std::string name;
  std::string bytes;
  /// Shape of the input that its `forward` takes, of f32.
  std::vector<std::int64_t> input;
};

/// GoogleTest's name of a parameter.
inline void PrintTo(const SmallArchive& archive, std::ostream* out) {
  *out << archive.name;
}

/// Ten files that between them have most of what TorchScript files hold. The
/// records are those that LibTorch writes, without the debugging ones; the zip
/// around them has no padding and short names. The same on every call.
std::vector<SmallArchive> SmallArchives();

}  // namespace foretell::torchscript
