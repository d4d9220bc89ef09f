#include "serve/routes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "foretell/version.h"
#include "src/core/json_text.h"

namespace foretell::serve {
namespace {

using Json = nlohmann::ordered_json;

const RouteInfo kStateRoutes[] = {
    {"/", "GET", "This list"},
    {"/healthz", "GET", "Whether the service runs; needs no token"},
    {"/metrics", "GET", "Counters for Prometheus"},
    {"/openapi.json", "GET", "All routes and options as OpenAPI 3.1"},
};

}  // namespace

std::vector<RouteInfo> RoutesOf(const std::vector<ServedCommand>& commands) {
  std::vector<RouteInfo> routes;
  for (const ServedCommand& command : commands) {
    routes.push_back({command.route, "POST", command.summary});
  }
  routes.insert(routes.end(), std::begin(kStateRoutes), std::end(kStateRoutes));
  return routes;
}

std::string IndexOf(const std::vector<RouteInfo>& routes) {
  Json document = {{"service", "foretell"}, {"version", kVersion}};
  document["routes"] = Json::array();
  for (const RouteInfo& route : routes) {
    document["routes"].push_back({{"method", route.method},
                                  {"path", route.path},
                                  {"summary", route.summary}});
  }
  return DumpJson(document) + "\n";
}

std::string MethodsOf(const std::vector<RouteInfo>& routes,
                      std::string_view path) {
  const auto route = std::ranges::find(routes, path, &RouteInfo::path);
  if (route == routes.end()) return "";
  return route->method == "GET" ? "GET, HEAD" : route->method;
}

}  // namespace foretell::serve
