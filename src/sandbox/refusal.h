#pragma once

#include <cerrno>

#include "src/core/descriptor.h"
#include "src/core/failure.h"

namespace foretell::sandbox {

/// Throws Error(kIo) that names `what` unless `error` is 0.
inline void RequireNone(int error, const char* what) {
  if (error == 0) return;
  throw IoFailure("sandbox: {}: {}", what, SystemMessage(error));
}

/// As RequireNone with errno, unless `is_done`.
inline void Require(bool is_done, const char* what) {
  if (!is_done) RequireNone(errno, what);
}

}  // namespace foretell::sandbox
