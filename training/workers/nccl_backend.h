#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace foretell::training {

/// Sums between GPUs by NCCL; null in a build without it.
c10::intrusive_ptr<c10d::Backend> NcclBackend(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
    std::chrono::milliseconds timeout);

}  // namespace foretell::training
