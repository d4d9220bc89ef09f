#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <vector>

#include "frontends/shared/layer_mode.h"

namespace foretell::torchscript {

/// What the rewritten code of a file reads while it runs on this thread: the
/// device of its regions of autocast, and how its layers are switched between
/// evaluation and training. One per thread; ends the regions that an exception
/// has left open.
class RunScope {
 public:
  RunScope(c10::DeviceType device, ModeChange change);
  ~RunScope();
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

  /// Null outside of a run: LibTorch may compute with constants as it loads.
  static RunScope* Current();

  ModeChange change() const { return change_; }

  /// `with torch.autocast(…):` of the saved object `region`, for tensors on the
  /// run's device. Throws Error(kUnsupported) for an element type other than
  /// f16 and bf16, Error(kCorrupt) for an object without autocast's attributes.
  void BeginAutocast(const c10::ivalue::Object& region);
  void EndAutocast();

 private:
  class Region;

  c10::DeviceType device_;
  ModeChange change_;
  std::vector<std::unique_ptr<Region>> regions_;  ///< The innermost comes last.
};

}  // namespace foretell::torchscript
