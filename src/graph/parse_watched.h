#pragma once

#include <functional>
#include <string_view>

#include "foretell/graph.h"

namespace foretell {

/// As ParseGraph, but calls `watch` every 64 KiB of text, to limit its cost. An
/// exception of `watch` ends the parsing; an Error gets the position in the
/// text.
OperatorGraph ParseGraphWatched(std::string_view text, std::string_view origin,
                                const std::function<void()>& watch);

}  // namespace foretell
