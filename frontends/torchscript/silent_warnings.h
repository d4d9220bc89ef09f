#pragma once

#include <c10/util/Exception.h>

namespace foretell::torchscript {

/// While it lives, LibTorch's warnings on this thread are dropped instead of
/// printed to standard error: a file chooses their text (aten::warn).
class SilentWarnings {
 public:
  SilentWarnings() : guard_(&silent_) {}

 private:
  class Silent final : public c10::WarningHandler {
   public:
    void process(const c10::Warning&) override {}
  };

  Silent silent_;
  c10::WarningUtils::WarningHandlerGuard guard_;
};

}  // namespace foretell::torchscript
