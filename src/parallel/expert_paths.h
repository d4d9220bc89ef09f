#pragma once

#include <string_view>

namespace foretell::parallel {

/// Of the path of a module or parameter in a list `experts` the part up to the
/// list ("layers.0.mlp.experts"); empty for others.
inline std::string_view ExpertsIn(std::string_view path) {
  constexpr std::string_view kList = ".experts";
  const std::size_t place = path.find(".experts.");
  if (place != std::string_view::npos) {
    return path.substr(0, place + kList.size());
  }
  return path.ends_with(kList) ? path : std::string_view();
}

}  // namespace foretell::parallel
