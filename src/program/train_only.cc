#include "src/program/train_only.h"

#include <fmt/core.h>

#include <vector>

#include "foretell/error.h"

namespace foretell {
std::regex ParsePattern(const std::string& pattern) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& error) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no regular expression: {}", pattern,
                            error.what()));
  }
}

void TrainOnly(const std::string& pattern, const ProgramInstance& instance) {
  const std::regex expression = ParsePattern(pattern);
  const std::vector<NamedTensor> parameters = instance.Parameters();
  int trained = 0;
  for (const NamedTensor& parameter : parameters) {
    if (!parameter.tensor.requires_grad()) continue;
    if (std::regex_search(parameter.name, expression)) {
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
