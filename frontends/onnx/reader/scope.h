#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// A value that a scope uses but does not define.
struct NameUse {
  std::string name;
  std::string user;  ///< For messages: "node 'a' (Add)", "the output list".
};

/// The nodes of a graph or function together with the names around them.
struct Scope {
  /// Defined before the first node: inputs and initializers. May repeat.
  std::vector<std::string_view> sources;
  std::vector<std::string_view> outputs;
  /// For each node the outer values that its subgraphs use.
  std::vector<std::vector<NameUse>> captured;
};

/// Checks that every value has one definition and sorts `nodes` topologically;
/// a stable sort that moves as few nodes as possible. Returns the first use of
/// each value from outside.
///
/// Cost: O((nodes + uses) log nodes). Throws Error(kCorrupt) when a name is
/// defined twice, or for a cycle; it names a node on the cycle.
std::vector<NameUse> ResolveScope(Scope scope, std::vector<Node>& nodes);

/// Throws Error(kCorrupt) for the first of `uses`, if any.
void RequireNoUses(std::span<const NameUse> uses);

}  // namespace foretell::onnx
