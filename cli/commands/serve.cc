#include "cli/flags/defaulted_flag.h"
#include "serve/server.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "cli/commands/command.h"
#include "cli/commands/command_table.h"
#include "cli/commands/serve_worker.h"
#include "cli/commands/served_commands.h"
#include "cli/flags/model_options.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/text.h"

namespace foretell::cli {
namespace {

constexpr char kWorkerCommand[] = "serve-worker";
constexpr int kBytesPerMib = 1 << 20;
constexpr char kServeExamples[] =
    "POST /v1/predict, /v1/fits, /v1/max-batch, /v1/advise, /v1/compare and\n"
    "/v1/mig/pack return what the commands of those names print with --json;\n"
    "GET / lists all routes: docs/serve.md.\n"
    "Examples:\n"
    "  foretell serve --port 8080\n"
    "  foretell serve --address 0.0.0.0 --token-file token\n"
    "  curl -F model=@resnet50.onnx 'localhost:8080/v1/predict?batch=8'";

struct ServeOptions {
  serve::ServerOptions server;
  std::string token_file;
  int most_body_mib = 256;
  int cache_mib = 64;
};

bool IsLoopback(const std::string& address) {
  return address == "localhost" || address == "::1" ||
         address.starts_with("127.");
}

/// The first line of a file, without blanks at its end, which HTTP would drop
/// from a request. Throws Error(kInvalidArgument) where that leaves nothing.
std::string ReadToken(const std::string& path) {
  std::string token = FirstLine(ReadText(path));
  token.erase(token.find_last_not_of(" \t\r") + 1);
  if (!token.empty()) return token;
  throw InvalidArgument("{}: has no token in its first line", path);
}

serve::ServerOptions Complete(const ServeOptions& options) {
  serve::ServerOptions server = options.server;
  server.most_body_bytes = std::int64_t{options.most_body_mib} * kBytesPerMib;
  server.cache_bytes = std::size_t(options.cache_mib) * kBytesPerMib;
  server.pool.argv = {std::filesystem::read_symlink("/proc/self/exe"),
                      kWorkerCommand};
  if (!options.token_file.empty()) server.token = ReadToken(options.token_file);
  return server;
}

/// Waits for SIGINT or SIGTERM, which no other thread receives.
void AwaitEnd(const sigset_t& signals) {
  int signal = 0;
  sigwait(&signals, &signal);
}

ExitCode RunServe(const ServeOptions& options) {
  const serve::ServerOptions complete = Complete(options);
  serve::Server server(complete, ServedCommands());
  if (complete.token.empty() && !IsLoopback(complete.address)) {
    PrintWarning(
        fmt::format("{}: anyone who can reach this address can use the "
                    "service; require a token with --token-file",
                    complete.address));
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::cout << fmt::format("listening on http://{}:{}\n", complete.address,
                           server.port())
            << std::flush;
  std::thread answering([&server] { server.Run(); });
  AwaitEnd(signals);
  server.Stop();
  answering.join();
  return kExitOk;
}

}  // namespace

void AddServe(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand(
      "serve", "Serve predictions over HTTP, for schedulers");
  command->footer(kServeExamples);
  serve::ServerOptions& server = options->server;
  AddDefaulted(*command, "--address", server.address, "Address to listen on");
  AddDefaulted(*command, "--port", server.port, "Port; 0: any free port",
               CLI::Range(0, 65535));
  command->add_option("--token-file", options->token_file,
                      "File whose first line every request must send as its "
                      "bearer token");
  AddDefaulted(*command, "--workers", server.pool.workers,
               "Processes that answer", CLI::Range(1, 1024));
  AddDefaulted(*command, "--queue", server.pool.queue,
               "Most requests that may wait; further ones get status 429",
               CLI::Range(0, 100000));
  AddDefaulted(*command, "--timeout", server.pool.timeout_s,
               "Time limit of a request in seconds",
               CLI::Range(0.001, 86400.0));
  AddDefaulted(*command, "--connections", server.connections,
               "Most simultaneous connections", CLI::Range(1, 4096));
  AddDefaulted(*command, "--max-body", options->most_body_mib,
               "Largest request body in MiB", CLI::Range(1, 1023));
  AddDefaulted(*command, "--cache", options->cache_mib,
               "Size of the answer cache in MiB; 0: no cache",
               CLI::Range(0, 65536));
  command->callback([options, &exit_code] { exit_code = RunServe(*options); });
}

void AddServeWorker(CLI::App& app, ExitCode& exit_code) {
  CLI::App* command =
      app.add_subcommand(kWorkerCommand, "Answers the jobs of serve");
  command->group("");  // Not in the help.
  command->callback([&exit_code] {
    AnswerJobs(kCommands<Home::kLab>);
    exit_code = kExitOk;
  });
}

}  // namespace foretell::cli
