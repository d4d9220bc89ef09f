#include "training/judge/method_text.h"

#include <fmt/core.h>

namespace foretell::training {

std::string MethodText(const learned::NetworkOptions& network,
                       const std::string& prior) {
  return fmt::format("{} {}{}{}", NetworkKindName(network.kind), network.hidden,
                     prior.empty() ? "" : " x ", prior);
}

}  // namespace foretell::training
