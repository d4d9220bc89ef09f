#pragma once

#include <chrono>
#include <memory>

#include "training/workers/communicator.h"

namespace foretell::training {

/// Time limit of workers waiting for each other.
inline constexpr std::chrono::seconds kWorkerTimeout{600};

/// The workers that torchrun started, as given by its variables RANK,
/// WORLD_SIZE, MASTER_ADDR and MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE:
/// whether torchrun or rank 0 hosts the rendezvous store); this process alone
/// without them. Returns when all have connected.
///
/// Sums go over Gloo, bound to the interface GLOO_SOCKET_IFNAME or to that of
/// the host's name, to the loopback when MASTER_ADDR is the loopback; sums of
/// tensors on a GPU go over NCCL if built with it. c10d has no authentication:
/// any process that can reach these ports can join.
///
/// Throws Error: kInvalidArgument for invalid variables, kIo when the others do
/// not connect within `timeout`.
std::unique_ptr<Communicator> ConnectWorkers(
    std::chrono::seconds timeout = kWorkerTimeout);

}  // namespace foretell::training
