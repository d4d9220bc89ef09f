#include "cli/flags/open_model.h"

#include "foretell/zoo.h"

namespace foretell::cli {

Program OpenModel(const std::string& name, const LoadOptions& options) {
  return name.starts_with(zoo::kPrefix) ? zoo::Load(name)
                                        : LoadModel(name, options);
}

}  // namespace foretell::cli
