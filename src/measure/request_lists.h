#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foretell/measure.h"

namespace foretell::measure {

/// Lists of settings to measure in all combinations.
struct RequestLists {
  std::vector<std::string> models;
  std::vector<std::string> devices;
  std::vector<Mode> modes;
  std::vector<Precision> precisions;
  std::vector<std::int64_t> batches;  ///< Empty: that of `base`.
};

/// `base` at every combination of `lists`; models change slowest, batches
/// fastest. Empty if one of the first four lists is empty.
std::vector<MeasureRequest> RequestsOf(const MeasureRequest& base,
                                       const RequestLists& lists);

}  // namespace foretell::measure
