#pragma once

namespace foretell {

/// Whether this thread is in an AutocastRegion, which sets it: attention that is
/// written out asks, and operators of frontends that cast by themselves.
inline thread_local bool in_autocast = false;

}  // namespace foretell
