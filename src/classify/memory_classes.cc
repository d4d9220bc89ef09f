#include "src/classify/memory_classes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/parse_number.h"

namespace foretell::classify {

MemoryClasses::MemoryClasses(std::vector<double> edges_mib)
    : edges_mib_(std::move(edges_mib)) {
  if (edges_mib_.empty() || edges_mib_.size() > kMostEdges) {
    throw InvalidArgument("{} of memory classes, expected 1 to {}",
                          Counted(edges_mib_.size(), "edge"), kMostEdges);
  }
  double before = 0;
  for (const double edge : edges_mib_) {
    if (!std::isfinite(edge) || edge <= before) {
      throw InvalidArgument(
          "edge of memory classes {} MiB after {}: edges rise",
          FormatExact(edge), FormatExact(before));
    }
    before = edge;
  }
}

MemoryClasses MemoryClasses::Parse(const std::string& text) {
  std::vector<double> edges;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto edge = ParseNumber<double>(rest.substr(0, comma));
    if (!edge || comma + 1 == rest.size()) {
      throw InvalidArgument("edges '{}': expected MiB, e.g. 8000,16000", text);
    }
    edges.push_back(*edge);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return MemoryClasses(std::move(edges));
}

int MemoryClasses::ClassOf(std::optional<double> memory_mib) const {
  if (!memory_mib) return size() - 1;
  const auto above = std::ranges::upper_bound(edges_mib_, *memory_mib);
  return static_cast<int>(above - edges_mib_.begin());
}

std::string MemoryClasses::Name(int one) const {
  const auto text = [this](int edge) {
    return FormatShort(edges_mib_[static_cast<std::size_t>(edge)], 9);
  };
  if (one == 0) return fmt::format("below {} MiB", text(0));
  if (one == size() - 1) return fmt::format("from {} MiB on", text(one - 1));
  return fmt::format("{} to {} MiB", text(one - 1), text(one));
}

}  // namespace foretell::classify
