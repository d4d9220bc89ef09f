#include "cli/flags/pairs.h"

#include "src/core/failure.h"

namespace foretell::cli {

std::pair<std::string, std::string> ParsePair(const std::string& flag,
                                              const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0) {
    return {text.substr(0, equals), text.substr(equals + 1)};
  }
  throw InvalidArgument("{} '{}': expected NAME=VALUE", flag, text);
}

std::pair<std::pair<std::string, std::string>, std::string> ParseWord(
    const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::size_t equals = text.rfind('=');
  if (colon != std::string::npos && equals != std::string::npos && 0 < colon &&
      colon < equals) {
    return {{text.substr(0, colon), text.substr(colon + 1, equals - colon - 1)},
            text.substr(equals + 1)};
  }
  throw InvalidArgument("--word '{}': expected FIELD:THEIRS=OURS", text);
}

}  // namespace foretell::cli
