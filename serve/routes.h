#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/served_command.h"

namespace foretell::serve {

/// A route of the service, and the HTTP method that it accepts.
struct RouteInfo {
  std::string path;
  std::string method;  ///< "GET" or "POST"; GET also allows HEAD.
  std::string summary;
};

/// All routes, in the order in which `GET /` lists them.
std::vector<RouteInfo> RoutesOf(const std::vector<ServedCommand>& commands);

/// The answer of `GET /`: the routes as JSON, and a reference to their
/// description.
std::string IndexOf(const std::vector<RouteInfo>& routes);

/// The value of Allow for a path; empty if there is no such route.
std::string MethodsOf(const std::vector<RouteInfo>& routes,
                      std::string_view path);

}  // namespace foretell::serve
