#pragma once

#include <string>

namespace foretell::cli {

/// A whole file. Throws Error(kNotFound) that names it.
std::string ReadText(const std::string& path);

}  // namespace foretell::cli
