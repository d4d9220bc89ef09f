#include "src/mig/parse_job.h"

#include <fmt/core.h>

#include <charconv>

#include "foretell/error.h"

namespace foretell::mig {

Job ParseJob(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  double mib = 0;
  if (equals != std::string::npos && equals != 0) {
    const char* end = text.data() + text.size();
    const auto [stop, status] =
        std::from_chars(text.data() + equals + 1, end, mib);
    if (status == std::errc() && stop == end && mib > 0) {
      return {.model = text.substr(0, equals), .needed_mib = mib};
    }
  }
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("--job '{}': expected NAME=MIB, e.g. ranker=3500", text));
}

}  // namespace foretell::mig
