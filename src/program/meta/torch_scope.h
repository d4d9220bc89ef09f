#pragma once

#include "foretell/run.h"

namespace foretell {

/// While it lives, attention on this thread's meta tensors allocates what
/// PyTorch of `torch` does. Without a scope: what today's does. Scopes do not
/// nest.
class TorchScope {
 public:
  explicit TorchScope(const TorchVersion& torch);
  ~TorchScope();
  TorchScope(const TorchScope&) = delete;
  TorchScope& operator=(const TorchScope&) = delete;

  /// The generation of this thread's scope.
  static TorchGeneration Generation();
};

}  // namespace foretell
