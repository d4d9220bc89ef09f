#pragma once

namespace foretell {

/// While one lives, a run in 16 bits takes its own type where operators of a
/// file name the type of the file's weights, to make a tensor or to cast one
/// that is not of floats: a file names f32 for `x.to(y.dtype)`, whatever a run
/// casts y to. Frontends ask for it in Instantiate. States of recurrent layers
/// have the type of the run without it (frontends/shared/initial_states.h).
class NamedTypesScope {
 public:
  NamedTypesScope();
  ~NamedTypesScope();
  NamedTypesScope(const NamedTypesScope&) = delete;
  NamedTypesScope& operator=(const NamedTypesScope&) = delete;

  /// Whether one lives in this thread.
  static bool IsActive();
};

}  // namespace foretell
