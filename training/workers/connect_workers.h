#pragma once

#include <chrono>
#include <memory>

#include "training/workers/communicator.h"

namespace foretell::training {

/// How long workers wait for each other before they give up.
inline constexpr std::chrono::seconds kWorkerTimeout{600};

/// The workers that torchrun started, as its variables RANK, WORLD_SIZE,
/// MASTER_ADDR and MASTER_PORT say (TORCHELASTIC_USE_AGENT_STORE: whether it
/// keeps the store that they meet at, or rank 0 does); this process alone
/// without them. Returns when all are there.
///
/// Sums go over Gloo, bound to the interface GLOO_SOCKET_IFNAME or to that of
/// the host's name, to the loopback when MASTER_ADDR is the loopback; of
/// tensors on a GPU over NCCL where the build has it. c10d knows no
/// authentication: whoever reaches these ports takes part.
///
/// Throws Error: kInvalidArgument for variables that make no sense, kIo when
/// the others do not come within `timeout`.
std::unique_ptr<Communicator> ConnectWorkers(
    std::chrono::seconds timeout = kWorkerTimeout);

}  // namespace foretell::training
