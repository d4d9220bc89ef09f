#include "training/connect_workers.h"

namespace foretell::training {

std::unique_ptr<Communicator> ConnectWorkers() {
  return std::make_unique<Communicator>();
}

}  // namespace foretell::training
