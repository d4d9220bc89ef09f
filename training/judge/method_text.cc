#include "training/judge/method_text.h"

#include <fmt/core.h>

namespace foretell::training {

std::string MethodText(const learned::NetworkOptions& network,
                       const std::string& prior) {
  const char* joined = network.kind.terms ? ", averaged with " : " x ";
  return fmt::format("{} {}{}{}", NetworkKindName(network.kind), network.hidden,
                     prior.empty() ? "" : joined, prior);
}

}  // namespace foretell::training
