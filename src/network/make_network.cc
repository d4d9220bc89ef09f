#include <memory>
#include <utility>
#include <vector>

#include "src/core/failure.h"
#include "src/network/ensemble.h"
#include "src/network/graph_network.h"
#include "src/network/network.h"
#include "src/network/term_network.h"

namespace foretell::learned {
namespace {

void CheckOptions(const NetworkOptions& options) {
  const auto check = [](const char* what, std::int64_t found,
                        std::int64_t least) {
    if (found >= least) return;
    throw InvalidArgument("a network's {} is {}, expected at least {}", what,
                          found, least);
  };
  check("node_features", options.node_features, 1);
  check("static_features", options.static_features, 0);
  check("hidden", options.hidden, 1);
  check("graph_blocks", options.graph_blocks, 1);
  check("layers_per_block", options.layers_per_block, 1);
  check("head_blocks", options.head_blocks, 1);
  check("outputs", options.outputs, 1);
  check("heads", options.heads, 0);
  check("members", options.members, 1);
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    throw InvalidArgument(
        "a network's dropout is {:f}, expected at least 0 and below 1",
        options.dropout);
  }
}

std::shared_ptr<Network> MakeMember(const NetworkOptions& options) {
  return options.kind.terms ? MakeTermNetwork(options)
                            : MakeGraphNetwork(options);
}

}  // namespace

std::shared_ptr<Network> MakeNetwork(const NetworkOptions& options) {
  CheckOptions(options);
  if (options.members == 1) return MakeMember(options);
  NetworkOptions member = options;
  member.members = 1;
  std::vector<std::shared_ptr<Network>> members;
  for (std::int64_t i = 0; i < options.members; ++i) {
    members.push_back(MakeMember(member));
  }
  return MakeEnsemble(options, std::move(members));
}

}  // namespace foretell::learned
