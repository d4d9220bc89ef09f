#pragma once

#include <string>
#include <utility>
#include <vector>

namespace foretell::torchscript {

/// Refuses code in which the default of an argument or an attribute of a class
/// is more than a literal: LibTorch computes them while it loads a file, before
/// anything counts work. Also refuses characters outside of strings that
/// LibTorch never writes and to which it would give another meaning than the
/// code here. `code` holds (record, text). Throws Error(kUnsupported) that
/// names the record and the method or attribute.
void RefuseComputedDefaults(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& code);

}  // namespace foretell::torchscript
