#include "foretell/plan.h"
#include "src/core/embedded_file.h"
#include "src/core/failure.h"
#include "src/core/text.h"

namespace foretell {
namespace plan {

/// Made by foretell_embed.
std::span<const EmbeddedFile> FootprintFiles();

}  // namespace plan

namespace {

/// A file is data/footprints/ALGORITHM-DTYPE.json.
constexpr std::string_view kEnding = ".json";

struct FootprintName {
  std::string algorithm;
  std::string dtype;
};

FootprintName NameOf(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  path.remove_suffix(kEnding.size());
  const std::size_t dash = path.rfind('-');
  return {std::string(path.substr(0, dash)),
          std::string(path.substr(dash + 1))};
}

}  // namespace

std::vector<std::string> BuiltInAlgorithms() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : plan::FootprintFiles()) {
    const std::string name = NameOf(file.path).algorithm;
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

Footprint BuiltInFootprint(std::string_view algorithm, std::string_view dtype) {
  std::vector<std::string> dtypes;
  for (const EmbeddedFile& file : plan::FootprintFiles()) {
    const FootprintName name = NameOf(file.path);
    if (name.algorithm != algorithm) continue;
    if (name.dtype == dtype) {
      return FootprintFromJson(file.bytes, std::string(file.path));
    }
    dtypes.push_back(name.dtype);
  }
  if (dtypes.empty()) {
    throw NotFound(
        "algorithm '{}' is unknown, expected one of {}, or --footprint",
        algorithm, Joined(BuiltInAlgorithms()));
  }
  throw NotFound("{}: dtype '{}' has no footprint, expected one of {}",
                 algorithm, dtype, Joined(dtypes));
}

}  // namespace foretell
