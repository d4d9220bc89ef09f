#pragma once

#include <memory>

#include "training/communicator.h"

namespace foretell::training {

/// The workers that torchrun started, as its variables RANK, WORLD_SIZE,
/// MASTER_ADDR and MASTER_PORT say; this process alone without them. Waits for
/// all. Throws Error: kInvalidArgument for variables that make no sense, kIo
/// when the others cannot be reached.
std::unique_ptr<Communicator> ConnectWorkers();

}  // namespace foretell::training
