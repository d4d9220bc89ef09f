#pragma once

#include <chrono>
#include <memory>

#include "training/workers/communicator.h"

namespace foretell::training {

/// How long workers wait for each other before they give up.
inline constexpr std::chrono::seconds kWorkerTimeout{600};

/// The workers that torchrun started, as given by its variables RANK,
/// WORLD_SIZE, MASTER_ADDR and MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE:
/// whether torchrun keeps the store at which they meet, or rank 0 does); this
/// process alone without them. Returns when all have connected.
///
/// Sums go over Gloo, bound to the interface GLOO_SOCKET_IFNAME or to that of
/// the host's name, to the loopback when MASTER_ADDR is the loopback; of
/// tensors on a GPU over NCCL where the build has it. c10d knows no
/// authentication: any process that reaches these ports can take part.
///
/// Throws Error: kInvalidArgument for variables that make no sense, kIo when
/// the others do not connect within `timeout`.
std::unique_ptr<Communicator> ConnectWorkers(
    std::chrono::seconds timeout = kWorkerTimeout);

}  // namespace foretell::training
