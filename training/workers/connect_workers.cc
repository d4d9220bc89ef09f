#include "training/workers/connect_workers.h"

#include <ATen/ATen.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "src/core/failure.h"
#include "src/core/parse_number.h"
#include "src/core/text.h"
#include "training/workers/nccl_backend.h"

namespace foretell::training {
namespace {

using std::chrono::milliseconds;

constexpr int kMaxWorkers = 1 << 20;
constexpr int kMaxPort = 65535;

std::string Variable(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

int Number(const char* name, int most) {
  const std::string text = Variable(name);
  const auto number = ParseNumber<int>(text);
  if (!number || *number < 0 || *number > most) {
    throw InvalidArgument("{} is '{}', expected a number up to {}", name, text,
                          most);
  }
  return *number;
}

/// What a worker gets from torchrun.
struct Rendezvous {
  int rank = 0;
  int size = 1;
  std::string host;
  int port = 0;
  bool agent_keeps_store = false;
  /// Number of torchrun's attempt; it may restart workers.
  std::string attempt;
};

Rendezvous ReadRendezvous() {
  Rendezvous rendezvous{.rank = Number("RANK", kMaxWorkers),
                        .size = Number("WORLD_SIZE", kMaxWorkers)};
  if (rendezvous.rank >= rendezvous.size) {
    throw InvalidArgument("RANK is {}, WORLD_SIZE is {}", rendezvous.rank,
                          rendezvous.size);
  }
  if (rendezvous.size == 1) return rendezvous;
  rendezvous.host = Variable("MASTER_ADDR");
  rendezvous.port = Number("MASTER_PORT", kMaxPort);
  rendezvous.agent_keeps_store =
      Variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  rendezvous.attempt = Variable("TORCHELASTIC_RESTART_COUNT", "0");
  return rendezvous;
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// Calls c10d; turns its exceptions into Error(kIo).
template <typename Call>
auto WithWorkers(const char* what, Call call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw IoFailure("other workers: {}: {}", what, FirstLine(error.what()));
  }
}

c10::intrusive_ptr<c10d::Store> OpenStore(const Rendezvous& rendezvous,
                                          milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(rendezvous.port);
  options.isServer = rendezvous.rank == 0 && !rendezvous.agent_keeps_store;
  options.numWorkers = static_cast<std::size_t>(rendezvous.size);
  options.waitWorkers = false;
  options.timeout = timeout;
  return c10::make_intrusive<c10d::PrefixStore>(
      "foretell/" + rendezvous.attempt,
      c10::make_intrusive<c10d::TCPStore>(rendezvous.host, options));
}

c10::intrusive_ptr<c10d::Backend> GlooBackend(
    const c10::intrusive_ptr<c10d::Store>& store, const Rendezvous& rendezvous,
    milliseconds timeout) {
  using Gloo = c10d::ProcessGroupGloo;
  const c10::intrusive_ptr<Gloo::Options> options =
      Gloo::Options::create(timeout);
  const std::string interface = Variable("GLOO_SOCKET_IFNAME");
  options->devices.push_back(
      !interface.empty()            ? Gloo::createDeviceForInterface(interface)
      : IsLoopback(rendezvous.host) ? Gloo::createDeviceForHostname("127.0.0.1")
                                    : Gloo::createDefaultDevice());
  return c10::make_intrusive<Gloo>(
      c10::make_intrusive<c10d::PrefixStore>("gloo", store), rendezvous.rank,
      rendezvous.size, options);
}

/// Workers in processes of their own.
class ProcessWorkers : public Communicator {
 public:
  ProcessWorkers(Rendezvous rendezvous, milliseconds timeout)
      : rendezvous_(std::move(rendezvous)), timeout_(timeout) {
    WithWorkers("meeting them failed", [this] {
      store_ = OpenStore(rendezvous_, timeout_);
      gloo_ = GlooBackend(store_, rendezvous_, timeout_);
    });
  }

  int rank() const override { return rendezvous_.rank; }
  int size() const override { return rendezvous_.size; }

  void SumInPlace(at::Tensor& tensor) override {
    Call(tensor, "a sum failed", [](c10d::Backend& backend, auto& tensors) {
      return backend.allreduce(tensors);
    });
  }

  void TakeFromFirst(at::Tensor& tensor) override {
    Call(tensor, "a broadcast failed",
         [](c10d::Backend& backend, auto& tensors) {
           return backend.broadcast(tensors);
         });
  }

 private:
  using Operation = std::function<c10::intrusive_ptr<c10d::Work>(
      c10d::Backend&, std::vector<at::Tensor>&)>;

  void Call(at::Tensor& tensor, const char* what, const Operation& operation) {
    WithWorkers(what, [&] {
      const bool on_gpu = tensor.is_cuda();
      const bool direct = !on_gpu || FindNccl();
      std::vector<at::Tensor> tensors = {direct ? tensor : tensor.cpu()};
      operation(on_gpu && direct ? *nccl_ : *gloo_, tensors)->wait();
      if (!direct) tensor.copy_(tensors.front());
    });
  }

  /// NCCL connects at its first use, when each worker has chosen its GPU.
  bool FindNccl() {
    if (!asked_for_nccl_) {
      nccl_ =
          NcclBackend(c10::make_intrusive<c10d::PrefixStore>("nccl", store_),
                      rendezvous_.rank, rendezvous_.size, timeout_);
      asked_for_nccl_ = true;
    }
    return nccl_.defined();
  }

  Rendezvous rendezvous_;
  milliseconds timeout_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::Backend> gloo_;
  c10::intrusive_ptr<c10d::Backend> nccl_;
  bool asked_for_nccl_ = false;
};

}  // namespace

std::unique_ptr<Communicator> ConnectWorkers(std::chrono::seconds timeout) {
  if (std::getenv("RANK") == nullptr && std::getenv("WORLD_SIZE") == nullptr) {
    return std::make_unique<Communicator>();
  }
  Rendezvous rendezvous = ReadRendezvous();
  if (rendezvous.size == 1) return std::make_unique<Communicator>();
  return std::make_unique<ProcessWorkers>(std::move(rendezvous), timeout);
}

}  // namespace foretell::training
