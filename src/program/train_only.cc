#include "src/program/train_only.h"

#include <fmt/core.h>

#include <vector>

#include "src/core/failure.h"
#include "src/core/numbers.h"
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
  throw InvalidArgument(
      "'{}' is found in the name of none of {} that can be trained{}", pattern,
      Counted(parameters.size(), "parameter"),
      parameters.empty()
          ? ""
          : fmt::format(" ('{}' is one)", parameters.front().name));
}

std::string WhyNothingIsTrained(std::size_t trainable) {
  if (trainable == 0) {
    return "nothing is trained: none of the parameters requires a gradient";
  }
  return fmt::format(
      "nothing is trained: none of {} that require a gradient gets one; the "
      "results are detached or made under torch.no_grad(), as torch.export "
      "makes those of torch.utils.checkpoint, unless use_reentrant=False",
      Counted(trainable, "tensor"));
}

}  // namespace foretell
