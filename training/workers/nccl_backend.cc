#include "training/workers/nccl_backend.h"

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace foretell::training {

c10::intrusive_ptr<c10d::Backend> NcclBackend(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
    std::chrono::milliseconds timeout) {
  c10::intrusive_ptr<c10d::ProcessGroupNCCL::Options> options =
      c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size,
                                                     options);
}

}  // namespace foretell::training
