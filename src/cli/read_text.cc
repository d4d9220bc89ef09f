#include "src/cli/read_text.h"

#include <fstream>
#include <iterator>

#include "foretell/error.h"

namespace foretell::cli {

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kNotFound, path + ": cannot be opened");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace foretell::cli
