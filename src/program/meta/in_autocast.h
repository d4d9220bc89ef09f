#pragma once

namespace foretell {

/// Whether this thread is in an AutocastRegion, which sets it. Read where
/// attention is written out, and by frontends' operators that cast themselves.
inline thread_local bool in_autocast = false;

}  // namespace foretell
