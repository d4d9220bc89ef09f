#include "training/workers/nccl_backend.h"

namespace foretell::training {

c10::intrusive_ptr<c10d::Backend> NcclBackend(
    const c10::intrusive_ptr<c10d::Store>& /*store*/, int /*rank*/,
    int /*size*/, std::chrono::milliseconds /*timeout*/) {
  return {};
}

}  // namespace foretell::training
