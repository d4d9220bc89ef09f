#include "src/program/train_only.h"

#include <fmt/core.h>

#include <vector>

#include "foretell/error.h"
#include "src/program/name_pattern.h"

namespace foretell {

void TrainOnly(const std::string& pattern, const ProgramInstance& instance) {
  const NamePattern trained_names(pattern);
  const std::vector<NamedTensor> parameters = instance.Parameters();
  int trained = 0;
  for (const NamedTensor& parameter : parameters) {
    if (!parameter.tensor.requires_grad()) continue;
    if (trained_names.IsFoundIn(parameter.name)) {
      ++trained;
    } else {
      parameter.tensor.set_requires_grad(false);
    }
  }
  if (trained > 0) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("'{}' is found in the name of none of {} parameters "
                  "that can be trained{}",
                  pattern, parameters.size(),
                  parameters.empty() ? ""
                                     : fmt::format(" ('{}' is one)",
                                                   parameters.front().name)));
}

}  // namespace foretell
