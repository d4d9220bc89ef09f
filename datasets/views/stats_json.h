#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json_fwd.hpp>

#include "datasets/views/stats.h"

namespace foretell::dataset {

/// What StatsToJson writes, as a document, with the farthest `most` outliers;
/// "num_outliers" is the number of all.
nlohmann::ordered_json StatsDocument(
    const Stats& stats,
    std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace foretell::dataset
