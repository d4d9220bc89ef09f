#include "frontends/onnx/reader/scope.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "frontends/onnx/reader/text.h"
#include "src/core/failure.h"

// ONNX requires the nodes of a graph in topological order, and exporters keep
// to it; hand-edited files do not always. So one pass collects what each node
// defines, one on which other nodes each node depends (including what its
// subgraphs use from outside), and only when a node comes before one that it
// depends on are the nodes sorted. Kahn's algorithm with the smallest original
// position first keeps the order of the file wherever it is right.

namespace foretell::onnx {
namespace {

// Instead of the number of the node that defines a value:
constexpr int kSource = -1;
constexpr int kOutside = -2;

class Resolver {
 public:
  Resolver(Scope& scope, std::vector<Node>& nodes)
      : scope_(scope), nodes_(nodes), depends_on_(nodes.size()) {}

  std::vector<NameUse> Run() {
    Define();
    for (std::size_t i = 0; i < nodes_.size(); ++i) Connect(i);
    std::vector<NameUse> uses = TakeOutsideUses();
    if (!sorted_) Sort();
    return uses;
  }

 private:
  // The first use of a value from outside: by a node, or inside of it.
  struct OutsideUse {
    std::string_view name;
    std::size_t node;
    NameUse* captured;
  };

  void Define();
  void Connect(std::size_t node);
  void Use(const OutsideUse& use);
  std::vector<NameUse> TakeOutsideUses();
  void Sort();
  [[noreturn]] void ReportCycle(const std::vector<int>& waiting) const;

  Scope& scope_;
  std::vector<Node>& nodes_;
  std::unordered_map<std::string_view, int> definer_;
  std::vector<std::vector<int>> depends_on_;  ///< May repeat.
  bool sorted_ = true;
  std::vector<OutsideUse> outside_;
};

void Resolver::Define() {
  definer_.reserve(scope_.sources.size() + 2 * nodes_.size());
  for (const std::string_view name : scope_.sources) {
    definer_.emplace(name, kSource);
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (const std::string& name : nodes_[i].outputs) {
      if (name.empty()) continue;
      const auto [at, is_new] = definer_.emplace(name, static_cast<int>(i));
      if (is_new) continue;
      const std::string other =
          at->second == kSource
              ? "an input or initializer"
              : NodeLabel(nodes_[static_cast<std::size_t>(at->second)]);
      throw Corrupt("{} defines {}, which {} defines already",
                    NodeLabel(nodes_[i]), Quoted(name), other);
    }
  }
}

void Resolver::Connect(std::size_t node) {
  for (const std::string& name : nodes_[node].inputs) {
    if (!name.empty()) Use({name, node, nullptr});
  }
  for (NameUse& use : scope_.captured[node]) Use({use.name, node, &use});
}

void Resolver::Use(const OutsideUse& use) {
  const auto [definition, is_new] = definer_.emplace(use.name, kOutside);
  if (is_new) outside_.push_back(use);
  const int definer = definition->second;
  if (definer < 0) return;
  depends_on_[use.node].push_back(definer);
  if (definer >= static_cast<int>(use.node)) sorted_ = false;
}

std::vector<NameUse> Resolver::TakeOutsideUses() {
  std::vector<NameUse> uses;
  uses.reserve(outside_.size());
  for (const std::string_view name : scope_.outputs) {
    if (!definer_.contains(name)) {
      uses.push_back({std::string(name), "the list of outputs"});
    }
  }
  for (const OutsideUse& use : outside_) {
    uses.push_back(use.captured ? std::move(*use.captured)
                                : NameUse{std::string(use.name),
                                          NodeLabel(nodes_[use.node])});
  }
  return uses;
}

void Resolver::Sort() {
  const std::size_t count = nodes_.size();
  std::vector<std::vector<int>> users(count);
  std::vector<int> waiting(count, 0);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    waiting[i] = static_cast<int>(depends_on_[i].size());
    if (waiting[i] == 0) ready.push(static_cast<int>(i));
    for (const int definer : depends_on_[i]) {
      users[static_cast<std::size_t>(definer)].push_back(static_cast<int>(i));
    }
  }
  std::vector<Node> sorted;
  sorted.reserve(count);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const auto next = static_cast<std::size_t>(ready.top());
    ready.pop();
    order.push_back(next);
    for (const int user : users[next]) {
      if (--waiting[static_cast<std::size_t>(user)] == 0) ready.push(user);
    }
  }
  if (order.size() < count) ReportCycle(waiting);
  for (const std::size_t i : order) sorted.push_back(std::move(nodes_[i]));
  nodes_ = std::move(sorted);
}

// A node that still waits depends on another one that waits; following these
// for as many steps as there are nodes ends on a cycle.
void Resolver::ReportCycle(const std::vector<int>& waiting) const {
  const auto waits = [&](int node) {
    return waiting[static_cast<std::size_t>(node)] > 0;
  };
  int node = 0;
  while (!waits(node)) ++node;
  for (std::size_t step = 0; step < nodes_.size(); ++step) {
    const std::vector<int>& needs = depends_on_[static_cast<std::size_t>(node)];
    node = *std::find_if(needs.begin(), needs.end(), waits);
  }
  throw Corrupt("{} is part of a cycle: it depends on its own output",
                NodeLabel(nodes_[static_cast<std::size_t>(node)]));
}

}  // namespace

std::vector<NameUse> ResolveScope(Scope scope, std::vector<Node>& nodes) {
  return Resolver(scope, nodes).Run();
}

void RequireNoUses(std::span<const NameUse> uses) {
  if (uses.empty()) return;
  throw Corrupt("{} uses {}, which nothing defines", uses.front().user,
                Quoted(uses.front().name));
}

}  // namespace foretell::onnx
