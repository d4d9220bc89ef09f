#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/core/files.h"

namespace foretell::torchscript {

/// A TorchScript archive without its weights.
struct SlimArchive {
  /// The archive again, each record below data/ cut to one byte: LibTorch's
  /// loader never compares a record's size with its tensor, so it loads, but
  /// the content of its tensors must not be touched.
  std::string bytes;
  /// Text of every code/ record, for inspection.
  std::vector<std::pair<std::string, std::string>> code;
};

/// True when the file begins like a zip archive.
bool LooksLikeZip(std::string_view first_bytes);

/// Reads every record of `file` except weights. Throws Error kIo, kCorrupt
/// (not a zip, damaged, not TorchScript), kUnsupported (a limit).
SlimArchive ReadSlimArchive(RegularFile file);

}  // namespace foretell::torchscript
