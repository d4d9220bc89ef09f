#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/core/files.h"

namespace foretell::exported {

/// The parts of an archive that are read: its graphs and the few values that a
/// run needs, never a weight.
struct Archive {
  std::string name;   ///< Of the model.
  std::string model;  ///< Text of models/NAME.json.
  /// Other models in the archive, where the path does not name one.
  std::vector<std::string> others;
  /// The record of each parameter that has one with content, by its name:
  /// parameters with the same record are one tensor. Those on the meta device
  /// have none.
  std::map<std::string, std::string> records;
  /// Content of the constants that are single numbers, by name.
  std::map<std::string, std::string> numbers;
  /// Content of the extra file "mode": "training" or "inference"; else empty.
  std::string mode;
};

/// FILE.pt2 of "FILE.pt2:MODEL", which names one of several models in an
/// archive; other paths unchanged.
std::string FileOf(const std::string& path);

/// True if a zip archive was written by torch.export, in this or an older form,
/// or by AOTInductor; others are treated as TorchScript.
bool LooksExported(const RegularFile& file);

/// Reads the model that the path of `file` names (FileOf); without a name
/// "model", or the first. Throws Error that begins with its path:
/// kInvalidArgument if there is no such model; kCorrupt for a damaged archive;
/// kUnsupported for one that PyTorch 2.7 or older made, for one that holds
/// compiled code (AOTInductor), and for a limit.
Archive ReadArchive(RegularFile file);

}  // namespace foretell::exported
