#include "src/runtime/compile/saved_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "src/graph/index_of.h"
#include "src/runtime/compile/knapsack.h"
#include "src/runtime/compile/min_cut.h"

// min_cut_rematerialization_partition of torch/_functorch/partitioners.py,
// PyTorch 2.13. Every tensor is an edge from its "in" to its "out" whose
// capacity is what it costs to keep it: its bytes, doubled if no kernel writes
// it anyway, and 10 % more per operator between it and the backward pass. Data
// flows along unlimited edges. The source leads to what may not be computed
// again, what the backward pass computes leads to the sink: a minimum cut is
// the cheapest set of tensors to keep.
//
// Not computed again:
//   products, random numbers and other operators without a loop
//   what a backward operator that is no loop, or the caller, reads from memory
//   results of less than a quarter of their operands: sums
//   the second of two loops over one tensor with another kernel between them
//   the 101st loop of a chain of loops
//   what a checkpoint keeps (KeepPolicy)
//
// What a checkpointed block computes leads to the sink: it is computed again.

namespace foretell::runtime {
namespace {

using Place = std::int32_t;

constexpr double kDistanceFactor = 1.1;
constexpr int kMostDistance = 100;
constexpr std::int64_t kReductionFactor = 4;
constexpr int kLongestChain = 100;

/// Reasons of which a smaller budget drops some.
struct Bans {
  bool used_far_apart = true;
  bool long_chains = true;
  bool materialized_backward = true;
  bool unknown_operators = true;
};

class Partitioner {
 public:
  /// `may_ban`, by place: false where an operator may be computed again for
  /// whatever reason against it.
  Partitioner(const JointGraph& joint, Bans bans, std::vector<bool> may_ban)
      : joint_(joint), bans_(bans), may_ban_(std::move(may_ban)) {
    is_banned_.assign(joint.nodes.size(), false);
  }
  Partitioner(const JointGraph& joint, Bans bans)
      : Partitioner(joint, bans, std::vector<bool>(joint.nodes.size(), true)) {}

  std::vector<Place> Saved() {
    AddEdges();
    if (bans_.used_far_apart) BanUsedFarApart();
    if (bans_.long_chains) BanLongChains();
    return Cut();
  }

  /// After Saved, by place.
  const std::vector<bool>& is_banned() const { return is_banned_; }

 private:
  const JointNode& At(Place place) const {
    return joint_.nodes[IndexOf(place)];
  }
  Place Size() const { return static_cast<Place>(joint_.nodes.size()); }
  Place Source() const { return 2 * Size(); }
  Place Sink() const { return 2 * Size() + 1; }
  static Place In(Place place) { return 2 * place; }
  static Place Out(Place place) { return 2 * place + 1; }
  void AddEdge(Place from, Place to, double capacity) {
    edges_.push_back({.from = from, .to = to, .capacity = capacity});
  }

  bool MustRecompute(Place place) const {
    return At(place).policy == KeepPolicy::kRecompute;
  }

  bool IsFusible(Place from, Place to) const {
    if (At(to).traits.is_concat) return true;
    return At(from).traits.is_fusible && At(to).traits.is_fusible;
  }

  /// A backward operator or the caller, which torch.fx has as an operator after
  /// all others, reads it, or a view of it, from memory.
  bool IsReadBackward(Place place) const {
    if (At(place).traits.is_view) return false;
    std::set<Place> open = {place};
    while (!open.empty()) {
      const Place current = open.extract(open.begin()).value();
      if (At(current).is_result) return true;
      for (const Place user : At(current).users) {
        if (!At(user).in_forward && !IsFusible(current, user)) return true;
        if (At(user).traits.is_view) open.insert(user);
      }
    }
    return false;
  }

  std::int64_t OperandBytes(const JointNode& node) const {
    std::int64_t sum = 0;
    for (const Place input : node.inputs) sum += At(input).bytes;
    return sum;
  }

  /// Whether an operator of the forward pass is too dear to compute again.
  bool IsDear(Place place) const {
    const JointNode& node = At(place);
    if (node.is_source || node.is_item) return false;
    if (node.policy == KeepPolicy::kKeep) return true;
    if (bans_.unknown_operators
            ? !node.traits.is_recomputable
            : node.traits.is_random || node.traits.is_product) {
      return true;
    }
    if (bans_.materialized_backward && IsReadBackward(place)) return true;
    return node.bytes * kReductionFactor < OperandBytes(node);
  }

  void Ban(Place place) {
    if (At(place).traits.is_view || !may_ban_[IndexOf(place)] ||
        MustRecompute(place)) {
      return;
    }
    is_banned_[IndexOf(place)] = true;
    AddEdge(Source(), In(place), kUnlimited);
  }

  double CostOfKeeping(Place place) const {
    const JointNode& node = At(place);
    if (node.is_static) return 0;
    if (node.value == kNone) return kUnlimited;
    const int distance = std::max(std::min(node.distance, kMostDistance), 1);
    const double cost = std::floor(static_cast<double>(node.bytes) *
                                   std::pow(kDistanceFactor, distance));
    const bool is_written = node.is_source || node.is_result ||
                            !std::ranges::all_of(node.users, [&](Place user) {
                              return IsFusible(place, user);
                            });
    return is_written ? cost : 2 * cost;
  }

  void AddEdges() {
    for (Place place = 0; place < Size(); ++place) {
      const JointNode& node = At(place);
      if (node.in_backward) {
        AddEdge(In(place), Sink(), kUnlimited);
        continue;
      }
      if (node.is_result && !node.in_forward) {
        AddEdge(Out(place), Sink(), kUnlimited);
      }
      if (MustRecompute(place)) {
        AddEdge(In(place), Sink(), kUnlimited);
        continue;
      }
      if (node.is_source || (node.in_forward && IsDear(place))) Ban(place);
      AddEdge(In(place), Out(place), CostOfKeeping(place));
      for (const Place user : node.users) {
        AddEdge(Out(place), In(user), kUnlimited);
      }
    }
  }

  std::vector<Place> ForwardUsers(Place place) const {
    std::vector<Place> users;
    for (const Place user : At(place).users) {
      if (At(user).in_forward) users.push_back(user);
    }
    return users;
  }

  /// The order of the first operator that no loop joins to its operand, among
  /// `starts` and what follows up to `last`.
  int FirstUnfusible(const std::vector<Place>& starts, int last) const {
    std::set<std::tuple<int, Place, bool>> open;
    for (const Place start : starts) {
      open.emplace(At(start).forward_order, start, true);
    }
    while (!open.empty()) {
      const auto [order, place, is_fusible] =
          open.extract(open.begin()).value();
      if (!is_fusible) return order;
      for (const Place user : ForwardUsers(place)) {
        if (At(user).forward_order > last) continue;
        open.emplace(At(user).forward_order, user, IsFusible(place, user));
      }
    }
    return last;
  }

  void BanUsedFarApart() {
    for (Place place = 0; place < Size(); ++place) {
      if (!At(place).in_forward) continue;
      const std::vector<Place> users = ForwardUsers(place);
      if (users.empty()) continue;
      // Users are in the graph's order.
      const int first = FirstUnfusible(users, At(users.back()).forward_order);
      for (const Place user : users) {
        if (At(user).forward_order > first && IsFusible(place, user) &&
            !is_banned_[IndexOf(user)]) {
          Ban(user);
        }
      }
    }
  }

  void BanLongChains() {
    std::vector<bool> is_visited(joint_.nodes.size(), false);
    for (Place start = 0; start < Size(); ++start) {
      if (At(start).in_forward) WalkChain(start, is_visited);
    }
  }

  void WalkChain(Place start, std::vector<bool>& is_visited) {
    // Places are in the order of the forward pass.
    std::priority_queue<Place, std::vector<Place>, std::greater<>> open;
    open.push(start);
    while (!open.empty()) {
      const Place place = open.top();
      open.pop();
      if (is_visited[IndexOf(place)]) continue;
      is_visited[IndexOf(place)] = true;
      const int length = At(place).forward_order - At(start).forward_order;
      if (length > kLongestChain && open.empty()) return Ban(place);
      for (const Place user : ForwardUsers(place)) {
        if (IsFusible(place, user) && !is_banned_[IndexOf(user)]) {
          open.push(user);
        }
      }
    }
  }

  std::vector<Place> Cut() const {
    const std::vector<bool> is_kept_side =
        SourceSide(2 * Size() + 2, edges_, Source(), Sink());
    std::vector<Place> saved;
    for (Place place = 0; place < Size(); ++place) {
      if (!At(place).in_backward && is_kept_side[IndexOf(In(place))] &&
          !is_kept_side[IndexOf(Out(place))]) {
        saved.push_back(place);
      }
    }
    return ReadBackward(saved);
  }

  /// Those of `saved` that the backward pass reads: an operator that must be
  /// computed again asks for its operands even if nothing needs its result.
  std::vector<Place> ReadBackward(const std::vector<Place>& saved) const {
    std::vector<bool> is_saved(joint_.nodes.size(), false);
    for (const Place place : saved) is_saved[IndexOf(place)] = true;
    std::vector<bool> is_read(joint_.nodes.size(), false);
    for (Place place = Size() - 1; place >= 0; --place) {
      const JointNode& node = At(place);
      const bool is_computed =
          node.in_backward || (node.is_result && !node.in_forward) ||
          (is_read[IndexOf(place)] && !is_saved[IndexOf(place)]);
      if (!is_computed) continue;
      for (const Place input : node.inputs) is_read[IndexOf(input)] = true;
    }
    std::vector<Place> read;
    std::ranges::copy_if(saved, std::back_inserter(read),
                         [&](Place place) { return is_read[IndexOf(place)]; });
    return read;
  }

  const JointGraph& joint_;
  Bans bans_;
  std::vector<bool> may_ban_;  ///< By place.
  std::vector<FlowEdge> edges_;
  std::vector<bool> is_banned_;  ///< By place.
};

std::vector<Place> Sources(const JointGraph& joint) {
  std::vector<Place> sources;
  for (Place place = 0; place < std::ssize(joint.nodes); ++place) {
    if (joint.nodes[IndexOf(place)].is_source) {
      sources.push_back(place);
    }
  }
  return sources;
}

double BytesOf(const JointGraph& joint, const std::vector<Place>& places) {
  double sum = 0;
  for (const Place place : places) {
    sum += static_cast<double>(joint.nodes[IndexOf(place)].bytes);
  }
  return sum;
}

/// Banned operators that the backward pass needs, the largest first.
std::vector<Place> Recomputable(const JointGraph& joint,
                                const std::vector<bool>& is_banned) {
  std::vector<Place> places;
  for (Place place = 0; place < std::ssize(joint.nodes); ++place) {
    const JointNode& node = joint.nodes[IndexOf(place)];
    if (is_banned[IndexOf(place)] && !node.is_source && node.distance < kFar) {
      places.push_back(place);
    }
  }
  std::ranges::stable_sort(places, std::ranges::greater(), [&](Place place) {
    return joint.nodes[IndexOf(place)].bytes;
  });
  return places;
}

/// Operators that save most arithmetic are kept, as many as `budget` of the
/// `unit` of bytes holds; all others may be computed again.
std::vector<Place> SavedWithin(const JointGraph& joint, Bans bans,
                               double budget, double unit) {
  Partitioner strict(joint, bans);
  strict.Saved();
  const std::vector<Place> places = Recomputable(joint, strict.is_banned());
  if (places.empty()) return Sources(joint);
  std::vector<KnapsackItem> items;
  for (const Place place : places) {
    const JointNode& node = joint.nodes[IndexOf(place)];
    const auto flops = 2 * static_cast<double>(node.macs);
    items.push_back({.memory = static_cast<double>(node.bytes) / unit,
                     .runtime = std::max(flops, 1.0)});
  }
  const std::vector<bool> is_kept = FillKnapsack(items, budget);
  std::vector<bool> may_ban(joint.nodes.size(), true);
  for (std::size_t i = 0; i < places.size(); ++i) {
    may_ban[IndexOf(places[i])] = is_kept[i];
  }
  return Partitioner(joint, bans, std::move(may_ban)).Saved();
}

}  // namespace

std::vector<Place> SavedTensors(const JointGraph& joint, double budget) {
  const std::vector<Place> sources = Sources(joint);
  if (budget <= 0) return sources;
  const std::vector<Place> fast = Partitioner(joint, {}).Saved();
  const double least = BytesOf(joint, sources);
  const double most = BytesOf(joint, fast);
  if (budget >= 1 || most <= least) return fast;
  Bans bans = {.used_far_apart = false,
               .long_chains = false,
               .materialized_backward = false};
  const auto is_within = [&](const std::vector<Place>& saved) {
    return (BytesOf(joint, saved) - least) / (most - least) < budget;
  };
  for (const bool bans_unknown : {true, false}) {
    bans.unknown_operators = bans_unknown;
    std::vector<Place> saved = Partitioner(joint, bans).Saved();
    if (is_within(saved)) return saved;
  }
  return SavedWithin(joint, bans, budget, most - least);
}

}  // namespace foretell::runtime
