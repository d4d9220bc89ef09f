#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretell::fuzz {

/// The inputs of corpus/<name>.txt: each line is a JSON string whose characters
/// U+0000 to U+00FF stand for bytes. Throws Error for another kind of line.
std::vector<std::string> ReadCorpus(std::string_view name);

}  // namespace foretell::fuzz
