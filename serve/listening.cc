#include "serve/listening.h"

#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "src/core/descriptor.h"

namespace foretell::serve {
namespace {

/// 0, or the errno of what failed.
int TryToListen(const addrinfo& place) {
  const Descriptor end(socket(place.ai_family, place.ai_socktype | SOCK_CLOEXEC,
                              place.ai_protocol));
  if (!end.is_open()) return errno;
  const int yes = 1;
  setsockopt(end.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const bool listens =
      bind(end.number(), place.ai_addr, place.ai_addrlen) == 0 &&
      listen(end.number(), 1) == 0;
  return listens ? 0 : errno;
}

}  // namespace

std::string WhyNotListening(const std::string& address, int port) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(
      address.c_str(), fmt::format("{}", port).c_str(), &wanted, &found);
  if (failure != 0) return gai_strerror(failure);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> places(
      found, &freeaddrinfo);
  int error = 0;
  for (const addrinfo* place = found; place != nullptr;
       place = place->ai_next) {
    error = TryToListen(*place);
    if (error == 0) return "";
  }
  return SystemMessage(error);
}

}  // namespace foretell::serve
