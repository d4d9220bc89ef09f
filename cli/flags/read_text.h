#pragma once

#include <string>

namespace foretell::cli {

/// A whole file of flags or devices, as ReadFile (src/core/files.h) reads it.
std::string ReadText(const std::string& path);

}  // namespace foretell::cli
