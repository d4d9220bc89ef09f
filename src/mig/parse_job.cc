#include "src/mig/parse_job.h"

#include <cmath>

#include "src/core/failure.h"
#include "src/core/memory_size.h"

namespace foretell::mig {

Job ParseJob(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals != std::string::npos && equals != 0) {
    const auto mib = ParseMib(std::string_view(text).substr(equals + 1));
    if (mib && *mib > 0 && std::isfinite(*mib)) {
      return {.model = text.substr(0, equals), .needed_mib = *mib};
    }
  }
  throw InvalidArgument(
      "--job '{}': expected NAME=MIB, e.g. ranker=3500 or ranker=9GB", text);
}

}  // namespace foretell::mig
