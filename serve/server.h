#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/served_command.h"
#include "serve/worker_pool.h"

namespace foretell::serve {

struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 8080;    ///< 0: any free port.
  std::string token;  ///< Bearer token; empty: none required.
  std::int64_t most_body_bytes = std::int64_t{256} << 20;
  std::size_t cache_bytes = std::size_t{64} << 20;
  int connections = 64;  ///< Most simultaneous connections.
  PoolOptions pool;
};

/// The HTTP service.
class Server {
 public:
  /// Starts workers and binds the port; does not answer yet. Throws Error(kIo)
  /// if either fails.
  Server(ServerOptions options, std::vector<ServedCommand> commands);
  ~Server();

  int port() const;
  /// Answers until Stop is called; finishes requests in progress.
  void Run();
  /// For any thread.
  void Stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretell::serve
