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
  int port = 8080;    ///< 0: any that is free.
  std::string token;  ///< Bearer; empty: none is asked for.
  std::int64_t most_body_bytes = std::int64_t{256} << 20;
  std::size_t cache_bytes = std::size_t{64} << 20;
  int connections = 64;  ///< Answered at the same time.
  PoolOptions pool;
};

/// The service. Answers until it is stopped.
class Server {
 public:
  /// Starts workers and binds the port; answers nothing yet. Throws Error(kIo)
  /// if one or the other is impossible.
  Server(ServerOptions options, std::vector<ServedCommand> commands);
  ~Server();

  int port() const;
  /// Answers until Stop is called; requests that were begun are finished.
  void Run();
  /// For any thread.
  void Stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretell::serve
