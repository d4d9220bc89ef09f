#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/advise.h"

namespace foretell {

/// A change of a step that could save memory.
struct RemedyRow {
  std::string name;
  /// See Exclude.
  std::string_view group;
  bool keeps_numerics = true;  ///< As Remedy.
  std::function<void(StepSetup&)> apply;
};

/// Whether only one of the changes can be made: they are of one group, or one
/// compiles a step that the other has in eager PyTorch.
bool Exclude(const RemedyRow& one, const RemedyRow& other);

/// All that apply to the step of `request` on `device`, each once; of parts of
/// the batch those in SplitRemedy.
std::vector<RemedyRow> RemediesFor(const AdviceRequest& request,
                                   const DeviceSpec& device);

/// The batch of `request` in `parts` parts.
RemedyRow SplitRemedy(const AdviceRequest& request, std::int64_t parts);

}  // namespace foretell
