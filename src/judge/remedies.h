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
  /// Changes of one group exclude each other.
  std::string_view group;
  bool keeps_numerics = true;  ///< As Remedy.
  std::function<void(StepSetup&)> apply;
};

/// All that apply to the step of `request` on `device`, each once; of parts of
/// the batch those in SplitRemedy.
std::vector<RemedyRow> RemediesFor(const AdviceRequest& request,
                                   const DeviceSpec& device);

/// The batch of `request` in `parts` parts.
RemedyRow SplitRemedy(const AdviceRequest& request, std::int64_t parts);

}  // namespace foretell
