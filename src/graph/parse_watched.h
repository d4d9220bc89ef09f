#pragma once

#include <functional>
#include <string_view>

#include "foretell/graph.h"

namespace foretell {

/// ParseGraph that calls `watch` every 64 KiB of text, as its cost is looked
/// after. What `watch` throws ends the parsing; an Error gets the place in the
/// text.
OperatorGraph ParseGraphWatched(std::string_view text, std::string_view origin,
                                const std::function<void()>& watch);

}  // namespace foretell
