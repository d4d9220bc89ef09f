#include "src/cli/open_model.h"

namespace foretell::cli {

Program OpenModel(const std::string& name, const LoadOptions& options) {
  return LoadModel(name, options);
}

}  // namespace foretell::cli
