#include "serve/server.h"

#include <fmt/core.h>
#include <httplib.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "foretell/error.h"
#include "serve/answer_cache.h"
#include "serve/body.h"
#include "serve/content_type.h"
#include "serve/job.h"
#include "serve/listening.h"
#include "serve/metrics.h"
#include "serve/openapi.h"
#include "serve/routes.h"
#include "src/core/failure.h"
#include "src/core/json_text.h"
#include "src/core/text.h"
#include "src/core/units.h"

namespace foretell::serve {
namespace {

constexpr char kContentType[] = "Content-Type";
constexpr char kJson[] = "application/json";
constexpr char kMultipart[] = "multipart/form-data";
/// The type that curl gives to a body by default.
constexpr char kUrlEncoded[] = "application/x-www-form-urlencoded";
constexpr char kTypes[] =
    "application/json, multipart/form-data or application/octet-stream";
/// Precedes a command's error message on stderr.
constexpr std::string_view kErrorMark = "foretell: error: ";
constexpr char kFilePart[] = "model";
constexpr char kOptionsPart[] = "options";
constexpr char kNameless[] = "model";
constexpr int kIdleSeconds = 5;   // Of a connection that sends nothing.
constexpr int kRetrySeconds = 1;  // After which 429 is worth another try.

/// HTTP statuses, by exit statuses of a command.
int StatusOf(const Answer& answer) {
  static constexpr std::array<int, 4> kStatuses = {200, 200, 400, 422};
  const auto status = static_cast<std::size_t>(answer.status);
  return status < kStatuses.size() ? kStatuses[status] : 500;
}

std::string ErrorBody(const std::string& message) {
  nlohmann::ordered_json document;
  document["errors"] = {{{"message", message}}};
  return DumpJson(document) + "\n";
}

void SetError(int status, const std::string& message,
              httplib::Response& response) {
  response.status = status;
  response.set_content(ErrorBody(message), kJson);
}

/// Takes constant time for any `given`.
bool IsToken(const std::string& token, const std::string& given) {
  const std::string wanted = "Bearer " + token;
  return wanted.size() == given.size() &&
         CRYPTO_memcmp(wanted.data(), given.data(), wanted.size()) == 0;
}

std::string TooLarge(std::int64_t most_bytes) {
  return fmt::format("the body is larger than {} MiB, the limit of --max-body",
                     most_bytes / kMiB);
}

/// Only SO_REUSEADDR: httplib itself would share a port with another service.
void ReuseAddress(socket_t socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

/// Options in the query of `target`. httplib itself reads "dim=seq=128" as 128.
Settings ReadQuery(std::string_view target) {
  Settings settings;
  const auto decoded = [](std::string_view text) {
    return httplib::detail::decode_url(std::string(text), true);
  };
  target.remove_prefix(std::min(target.find('?'), target.size()));
  while (!target.empty()) {
    target.remove_prefix(1);
    const std::string_view pair = target.substr(0, target.find('&'));
    target.remove_prefix(pair.size());
    if (pair.empty()) continue;
    const std::size_t name = std::min(pair.find('='), pair.size());
    const std::size_t value = std::min(name + 1, pair.size());
    settings.emplace_back(decoded(pair.substr(0, name)),
                          decoded(pair.substr(value)));
  }
  return settings;
}

/// httplib waits for the body of such a request until it times out.
bool LacksBody(const httplib::Request& http) {
  const bool has_body =
      http.has_header("Content-Length") || http.has_header("Transfer-Encoding");
  return !has_body && (http.method == "POST" || http.method == "PUT" ||
                       http.method == "PATCH");
}

/// The first error of `errors`, a command's stderr; else its first line.
std::string FirstError(std::string_view errors) {
  const std::size_t mark = errors.find(kErrorMark);
  if (mark != std::string_view::npos) {
    errors.remove_prefix(mark + kErrorMark.size());
  }
  return FirstLine(errors);
}

std::string TypeOf(const httplib::Request& http) {
  return MediaType(http.get_header_value(kContentType));
}

/// httplib recognizes forms only by names in lower case. It has not read the
/// body yet, and its const reference is to a variable of its own.
void LowerNamesOfType(const httplib::Request& http) {
  auto& headers = const_cast<httplib::Request&>(http).headers;
  const auto found = headers.find(kContentType);
  if (found == headers.end()) return;
  found->second = WithNamesInLowerCase(found->second);
}

Request ReadParts(std::vector<httplib::MultipartFormData> parts) {
  Request request;
  for (httplib::MultipartFormData& part : parts) {
    if (part.name == kOptionsPart) {
      request.settings = ReadSettings(part.content);
    } else if (part.name == kFilePart && part.filename.empty()) {
      request.zoo.push_back(std::move(part.content));
    } else if (part.name == kFilePart) {
      request.files.push_back(
          {std::move(part.filename), std::move(part.content)});
    } else {
      throw InvalidArgument("part '{}': expected {} and {}", part.name,
                            kFilePart, kOptionsPart);
    }
  }
  return request;
}

Request ReadRequest(const httplib::Request& http, Body body) {
  const std::string type = TypeOf(http);
  if (type == kJson) return ReadJsonRequest(body.bytes);
  if (type == kUrlEncoded) {
    throw InvalidArgument("Content-Type is {}, expected {}", kUrlEncoded,
                          kTypes);
  }
  Request request;
  if (type == kMultipart) {
    request = ReadParts(std::move(body.parts));
  } else if (!body.bytes.empty()) {
    request.files.push_back({kNameless, std::move(body.bytes)});
  }
  const Settings query = ReadQuery(http.target);
  request.settings.insert(request.settings.end(), query.begin(), query.end());
  return request;
}

}  // namespace

struct Server::State {
  State(ServerOptions given, std::vector<ServedCommand> served)
      : options(std::move(given)),
        commands(std::move(served)),
        routes(RoutesOf(commands)),
        pool(options.pool),
        cache(options.cache_bytes) {}

  void AddRoutes();
  void AddLimits();
  void Serve(const ServedCommand& command, const httplib::Request& http,
             const httplib::ContentReader& read, httplib::Response& response);
  Answer AnswerTo(const Job& job);
  bool IsAllowed(const httplib::Request& http) const;
  std::string MetricsText();
  void SetFailure(const httplib::Request& request, httplib::Response& response);
  httplib::Server::HandlerResponse RefuseWithoutBody(
      const httplib::Request& request, httplib::Response& response);

  const ServerOptions options;
  const std::vector<ServedCommand> commands;
  const std::vector<RouteInfo> routes;
  WorkerPool pool;
  AnswerCache cache;
  Metrics metrics;
  httplib::Server http;
  int port = 0;
};

bool Server::State::IsAllowed(const httplib::Request& request) const {
  return options.token.empty() || request.path == "/healthz" ||
         IsToken(options.token, request.get_header_value("Authorization"));
}

Answer Server::State::AnswerTo(const Job& job) {
  const std::string key = KeyOf(job);
  std::optional<Answer> known = cache.Find(key);
  metrics.CountCacheHit(known.has_value());
  if (known) return *known;
  Answer answer = pool.Ask(Pack(job));
  // A failure may succeed later: a deadline, a limit of memory.
  if (answer.status <= 1) cache.Put(key, answer);
  return answer;
}

void Server::State::Serve(const ServedCommand& command,
                          const httplib::Request& request,
                          const httplib::ContentReader& read,
                          httplib::Response& response) {
  Body body = ReadBody(request, read,
                       static_cast<std::size_t>(options.most_body_bytes));
  if (!body.is_whole) {
    // httplib has set the reason; the error handler writes the message.
    response.status = std::max(response.status, 400);
    return;
  }
  if (body.refusal == 413) {
    return SetError(413, TooLarge(options.most_body_bytes), response);
  }
  if (body.refusal != 0) return SetError(body.refusal, body.reason, response);
  try {
    const Answer answer =
        AnswerTo(MakeJob(command, ReadRequest(request, std::move(body))));
    const int status = StatusOf(answer);
    if (answer.output.empty()) {
      SetError(status, FirstError(answer.errors), response);
    } else {
      response.status = status;
      response.set_content(answer.output, kJson);
    }
  } catch (const Error& error) {
    SetError(400, error.what(), response);
  } catch (const NotAnswered& no) {
    static constexpr std::array<int, 3> kStatuses = {429, 504, 500};
    static constexpr const char* kReasons[] = {
        "too many requests wait", "no answer in time", "the worker died"};
    const auto why = static_cast<std::size_t>(no.why);
    SetError(kStatuses[why], kReasons[why], response);
    if (no.why == NoAnswer::kBusy) {
      response.set_header("Retry-After", fmt::format("{}", kRetrySeconds));
    }
  }
}

std::string Server::State::MetricsText() {
  return metrics.Text(
      {{"workers", "Worker processes",
        static_cast<double>(options.pool.workers)},
       {"workers_busy", "Workers that are answering a request",
        static_cast<double>(pool.busy())},
       {"workers_replaced", "Workers restarted after another died",
        static_cast<double>(pool.replaced())},
       {"queue", "Requests waiting for a worker",
        static_cast<double>(pool.waiting())},
       {"cache_bytes", "Size of the answer cache in bytes",
        static_cast<double>(cache.bytes())}});
}

void Server::State::AddRoutes() {
  using Clock = std::chrono::steady_clock;
  for (const ServedCommand& command : commands) {
    http.Post(
        command.route, [this, &command](const httplib::Request& request,
                                        httplib::Response& response,
                                        const httplib::ContentReader& read) {
          const Clock::time_point begin = Clock::now();
          Serve(command, request, read, response);
          const std::chrono::duration<double> seconds = Clock::now() - begin;
          metrics.CountRequest(command.route, response.status, seconds.count());
        });
  }
  http.Get("/", [this](const httplib::Request&, httplib::Response& response) {
    response.set_content(IndexOf(routes), kJson);
  });
  http.Get("/healthz",
           [](const httplib::Request&, httplib::Response& response) {
             response.set_content("{\"status\": \"ok\"}\n", kJson);
           });
  http.Get("/metrics",
           [this](const httplib::Request&, httplib::Response& response) {
             response.set_content(MetricsText(), "text/plain; version=0.0.4");
           });
  http.Get("/openapi.json",
           [this](const httplib::Request&, httplib::Response& response) {
             response.set_content(OpenApi(commands), kJson);
           });
}

void Server::State::AddLimits() {
  http.set_payload_max_length(
      static_cast<std::size_t>(options.most_body_bytes));
  http.set_keep_alive_timeout(kIdleSeconds);
  http.set_read_timeout(kIdleSeconds);
  http.set_keep_alive_max_count(10'000);
  http.set_tcp_nodelay(true);
  http.set_socket_options(&ReuseAddress);
  http.new_task_queue = [this] {
    return new httplib::ThreadPool(
        static_cast<std::size_t>(options.connections));
  };
  http.set_pre_routing_handler(
      [this](const httplib::Request& request, httplib::Response& response) {
        LowerNamesOfType(request);
        if (IsAllowed(request)) return RefuseWithoutBody(request, response);
        response.set_header("WWW-Authenticate", "Bearer");
        SetError(401, "the bearer token is missing or wrong", response);
        return httplib::Server::HandlerResponse::Handled;
      });
  http.set_error_handler(
      [this](const httplib::Request& request, httplib::Response& response) {
        if (response.body.empty()) SetFailure(request, response);
      });
}

httplib::Server::HandlerResponse Server::State::RefuseWithoutBody(
    const httplib::Request& request, httplib::Response& response) {
  if (!LacksBody(request)) return httplib::Server::HandlerResponse::Unhandled;
  if (request.method == MethodsOf(routes, request.path)) {
    SetError(400, "the request has no body", response);
  } else {
    response.status = 404;
    SetFailure(request, response);
  }
  return httplib::Server::HandlerResponse::Handled;
}

/// Reports why httplib itself has refused a request.
void Server::State::SetFailure(const httplib::Request& request,
                               httplib::Response& response) {
  const std::string methods = MethodsOf(routes, request.path);
  if (response.status == 413) {
    SetError(413, TooLarge(options.most_body_bytes), response);
  } else if (response.status == 404 && methods.empty()) {
    SetError(404,
             fmt::format("{} {}: no such route; GET / lists them",
                         request.method, request.path),
             response);
  } else if (response.status == 404) {
    response.set_header("Allow", methods);
    SetError(405,
             fmt::format("{}: takes {}, not {}", request.path, methods,
                         request.method),
             response);
  } else {
    SetError(response.status, "the request is not understood", response);
  }
}

Server::Server(ServerOptions options, std::vector<ServedCommand> commands)
    : state_(std::make_unique<State>(std::move(options), std::move(commands))) {
  state_->AddLimits();
  state_->AddRoutes();
  const ServerOptions& wanted = state_->options;
  const bool is_bound =
      wanted.port == 0
          ? (state_->port = state_->http.bind_to_any_port(wanted.address)) > 0
          : state_->http.bind_to_port(wanted.address,
                                      state_->port = wanted.port);
  if (!is_bound) {
    throw IoFailure("{}:{}: cannot listen: {}", wanted.address, wanted.port,
                    WhyNotListening(wanted.address, wanted.port));
  }
}

Server::~Server() = default;

int Server::port() const { return state_->port; }

void Server::Run() { state_->http.listen_after_bind(); }

void Server::Stop() { state_->http.stop(); }

}  // namespace foretell::serve
