#include "src/runtime/compile/schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "src/graph/index_of.h"

// The scheduler of torch/_inductor/scheduler.py and choices.py (PyTorch 2.13).
// Pairs of kernels that touch the same buffers are fused, those that save most
// first, over and over until nothing changes. A pair fits if
//
//   sizes    both loop over as many elements; or one over the rows, or over the
//            elements of the rows, that the other sums along, if those lie one
//            after the other, or neighbours in memory are in one row, so that
//            loops can be reordered (SIMDScheduling.can_fuse, codegen/simd.py;
//            loop_ordering_after_fusion)
//   order    the later one reads what the earlier one writes in the same order
//            (can_fuse_vertical)
//   cycles   nothing between them has to run between them
//   bounds   at most 64 nodes, no further than 64 kernels apart, counted before
//            the first fusion

namespace foretell::runtime {
namespace {

constexpr std::size_t kMostNodes = 64;          // max_fusion_size
constexpr int kMostDistance = 64;               // are_long_distant_nodes
constexpr std::int64_t kLeastSharedBytes = 10;  // score_fusion_memory_threshold
constexpr int kMostRounds = 10;                 // Scheduler.fuse_nodes
/// max_fusion_buffer_group_pairwise_attempts.
constexpr std::size_t kPairsOfABuffer = 64;

/// Bits of groups.
using Set = std::vector<std::uint64_t>;
constexpr std::size_t kWord = 64;

/// A kernel so far.
struct Group {
  std::vector<NodeId> nodes;
  bool is_extern = false;
  bool reduces = false;
  std::int64_t rows = 0;
  std::int64_t row_elements = 1;
  bool is_inner = true;
  bool steps_by_one = true;
  Phase phase = Phase::kForward;
  int least_order = 0;  ///< Of the kernels that it was fused from.
  int most_order = 0;
  std::map<ValueId, bool> reads = {};  ///< Buffers; true: all in order.
  std::set<ValueId> writes = {};
  std::set<int> before = {};  ///< Groups that it reads from.
  std::set<int> after = {};
};

class Scheduler {
 public:
  Scheduler(const OperatorGraph& graph, const std::vector<Loop>& loops)
      : graph_(graph), loops_(loops), writer_(graph.values().size(), kNone) {
    for (NodeId id = 0; id < std::ssize(loops); ++id) {
      const Loop& loop = loops[IndexOf(id)];
      if (loop.kind != LoopKind::kView && loop.is_buffer) AddGroup(id);
    }
  }

  std::vector<KernelNodes> Run() {
    ListAncestors();
    for (int round = 0; round < kMostRounds && FuseOnce(); ++round) {
    }
    return InOrder();
  }

 private:
  void AddGroup(NodeId id) {
    const Loop& loop = loops_[IndexOf(id)];
    const Node& node = graph_.node(id);
    const int index = static_cast<int>(groups_.size());
    Group group{.nodes = {id},
                .is_extern = loop.kind == LoopKind::kExtern,
                .reduces = loop.kind == LoopKind::kReduction,
                .rows = loop.rows,
                .row_elements = loop.row_elements,
                .is_inner = loop.is_inner,
                .steps_by_one = loop.steps_by_one,
                .phase = node.phase,
                .least_order = index,
                .most_order = index};
    for (const LoopRead& read : loop.reads) {
      group.reads.try_emplace(read.buffer, true).first->second &= read.in_order;
      const int writer = writer_[IndexOf(read.buffer)];
      if (writer != kNone && writer != index) group.before.insert(writer);
    }
    for (const ValueId output : node.outputs) {
      // An update comes after all that read the old content.
      AddUpdate(output, index, group);
      group.writes.insert(output);
      writer_[IndexOf(output)] = index;
    }
    for (const int before : group.before)
      groups_[IndexOf(before)].after.insert(index);
    groups_.push_back(std::move(group));
  }

  void AddUpdate(ValueId output, int index, Group& group) {
    const StorageId storage = graph_.value(output).storage;
    if (graph_.storage(storage).role == TensorRole::kActivation) return;
    const auto [place, is_new] = last_of_storage_.try_emplace(storage, index);
    if (is_new) return;
    if (place->second != index) group.before.insert(place->second);
    place->second = index;
  }

  std::int64_t SharedBytes(const Group& a, const Group& b) const {
    std::int64_t bytes = 0;
    const auto add = [&](ValueId id) {
      bytes += graph_.value(id).type.Bytes();
    };
    for (const auto& [buffer, in_order] : b.reads) {
      const auto same = a.reads.find(buffer);
      const bool both_read = same != a.reads.end() && same->second && in_order;
      if (both_read || (a.writes.contains(buffer) && in_order)) add(buffer);
    }
    for (const auto& [buffer, in_order] : a.reads) {
      if (b.writes.contains(buffer) && in_order) add(buffer);
    }
    return bytes;
  }

  /// `elements` of a loop element by element next to a reduction.
  static bool FitsRows(const Group& reduction, std::int64_t elements) {
    return elements == reduction.rows ||
           ((reduction.is_inner || reduction.steps_by_one) &&
            elements == reduction.rows * reduction.row_elements);
  }

  static bool SizesFit(const Group& a, const Group& b) {
    if (a.reduces && b.reduces) {
      return a.rows == b.rows && a.row_elements == b.row_elements &&
             a.is_inner == b.is_inner;
    }
    if (!a.reduces && !b.reduces) return a.rows == b.rows;
    return a.reduces ? FitsRows(a, b.rows) : FitsRows(b, a.rows);
  }

  /// Whether a group other than the two is on a path from `from` to `to`.
  bool HasDetour(int from, int to) const {
    return std::ranges::any_of(groups_[IndexOf(from)].after, [&](int next) {
      return next != to && IsBefore(next, to);
    });
  }

  bool IsBefore(int first, int second) const {
    return (ancestors_[IndexOf(second)][IndexOf(first) / kWord] >>
            (IndexOf(first) % kWord)) &
           1;
  }

  /// The groups before each, through any others.
  void ListAncestors() {
    ancestors_.assign(groups_.size(), Set(groups_.size() / kWord + 1));
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      for (const int before : groups_[i].before)
        AddAncestor(before, ancestors_[i]);
    }
  }

  void AddAncestor(int group, Set& set) const {
    const Set& further = ancestors_[IndexOf(group)];
    for (std::size_t i = 0; i < set.size(); ++i) set[i] |= further[i];
    set[IndexOf(group) / kWord] |= std::uint64_t{1} << (IndexOf(group) % kWord);
  }

  /// What comes after one of two groups that are now `into` comes after all
  /// that is before the other.
  void JoinAncestors(int into, int from) {
    Set joined = ancestors_[IndexOf(into)];
    for (std::size_t i = 0; i < joined.size(); ++i) {
      joined[i] |= ancestors_[IndexOf(from)][i];
    }
    joined[IndexOf(into) / kWord] &=
        ~(std::uint64_t{1} << (IndexOf(into) % kWord));
    joined[IndexOf(from) / kWord] &=
        ~(std::uint64_t{1} << (IndexOf(from) % kWord));
    ancestors_[IndexOf(into)] = joined;
    for (int i = 0; i < std::ssize(groups_); ++i) {
      if (i == into || (!IsBefore(into, i) && !IsBefore(from, i))) continue;
      AddAncestor(into, ancestors_[IndexOf(i)]);
    }
  }

  bool ReadsInOrder(const Group& reader, const Group& writer) const {
    return std::ranges::all_of(reader.reads, [&](const auto& read) {
      return !writer.writes.contains(read.first) || read.second;
    });
  }

  /// The order of the loops is the same, where both see more than a row.
  bool CanFuse(int first, int second) const {
    const Group& a = groups_[IndexOf(first)];
    const Group& b = groups_[IndexOf(second)];
    if (a.is_extern || b.is_extern || a.phase != b.phase) return false;
    if (a.nodes.size() + b.nodes.size() > kMostNodes) return false;
    const bool depends = b.before.contains(first) || a.before.contains(second);
    const int distance = std::max(std::abs(a.least_order - b.most_order),
                                  std::abs(b.least_order - a.most_order));
    if (!depends && distance > kMostDistance) return false;
    return SizesFit(a, b) && SharedBytes(a, b) >= kLeastSharedBytes &&
           ReadsInOrder(b, a) && ReadsInOrder(a, b) &&
           !HasDetour(first, second) && !HasDetour(second, first);
  }

  using Candidate = std::tuple<bool, std::int64_t, int, int>;

  std::vector<Candidate> Candidates() const {
    std::map<ValueId, std::vector<int>> touching;
    for (int i = 0; i < std::ssize(groups_); ++i) {
      const Group& group = groups_[IndexOf(i)];
      if (group.nodes.empty() || group.is_extern) continue;
      for (const auto& [buffer, in_order] : group.reads) {
        touching[buffer].push_back(i);
      }
      for (const ValueId id : group.writes) touching[id].push_back(i);
    }
    std::set<Candidate> found;
    for (const auto& [buffer, groups] : touching) {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::size_t end =
            std::min(groups.size(), i + 1 + kPairsOfABuffer);
        for (std::size_t j = i + 1; j < end; ++j)
          AddPair(groups[i], groups[j], found);
      }
    }
    return {found.rbegin(), found.rend()};
  }

  void AddPair(int i, int j, std::set<Candidate>& found) const {
    if (i == j) return;
    const auto [first, second] = std::minmax(i, j);
    const Group& a = groups_[IndexOf(first)];
    const Group& b = groups_[IndexOf(second)];
    if (!SizesFit(a, b)) return;
    found.insert({a.reduces == b.reduces, SharedBytes(a, b), -first, -second});
  }

  bool FuseOnce() {
    bool changed = false;
    for (const auto& [same, bytes, first, second] : Candidates()) {
      const int a = -first, b = -second;
      if (groups_[IndexOf(a)].nodes.empty() ||
          groups_[IndexOf(b)].nodes.empty())
        continue;
      if (!CanFuse(a, b)) continue;
      Fuse(a, b);
      changed = true;
    }
    return changed;
  }

  void Fuse(int into, int from) {
    Group& a = groups_[IndexOf(into)];
    Group& b = groups_[IndexOf(from)];
    a.nodes.insert(a.nodes.end(), b.nodes.begin(), b.nodes.end());
    std::ranges::sort(a.nodes);
    if (!a.reduces && b.reduces) {
      a.rows = b.rows;
      a.row_elements = b.row_elements;
      a.is_inner = b.is_inner;
      a.steps_by_one = b.steps_by_one;
      a.reduces = true;
    }
    for (const auto& [buffer, in_order] : b.reads) {
      a.reads.try_emplace(buffer, true).first->second &= in_order;
    }
    a.writes.insert(b.writes.begin(), b.writes.end());
    a.least_order = std::min(a.least_order, b.least_order);
    a.most_order = std::max(a.most_order, b.most_order);
    JoinAncestors(into, from);
    Relink(into, from);
    b = {};
  }

  void Relink(int into, int from) {
    Group& a = groups_[IndexOf(into)];
    const Group& b = groups_[IndexOf(from)];
    for (const int index : b.before) {
      groups_[IndexOf(index)].after.erase(from);
      if (index == into) continue;
      groups_[IndexOf(index)].after.insert(into);
      a.before.insert(index);
    }
    for (const int index : b.after) {
      groups_[IndexOf(index)].before.erase(from);
      if (index == into) continue;
      groups_[IndexOf(index)].before.insert(into);
      a.after.insert(index);
    }
    a.before.erase(from);
    a.after.erase(from);
  }

  std::vector<KernelNodes> InOrder() const {
    std::set<std::pair<NodeId, int>> ready;
    std::vector<std::size_t> waits(groups_.size());
    for (int i = 0; i < std::ssize(groups_); ++i) {
      const Group& group = groups_[IndexOf(i)];
      waits[IndexOf(i)] = group.before.size();
      if (!group.nodes.empty() && group.before.empty()) {
        ready.insert({group.nodes.back(), i});
      }
    }
    std::vector<KernelNodes> kernels;
    while (!ready.empty()) {
      const int index = ready.begin()->second;
      ready.erase(ready.begin());
      const Group& group = groups_[IndexOf(index)];
      kernels.push_back(group.nodes);
      for (const int next : group.after) {
        if (--waits[IndexOf(next)] == 0) {
          ready.insert({groups_[IndexOf(next)].nodes.back(), next});
        }
      }
    }
    return kernels;
  }

  const OperatorGraph& graph_;
  const std::vector<Loop>& loops_;
  std::vector<Group> groups_;
  std::vector<Set> ancestors_;  ///< By group.
  std::vector<int> writer_;     ///< Group by value.
  std::map<StorageId, int> last_of_storage_;
};

}  // namespace

std::vector<KernelNodes> ScheduleKernels(const OperatorGraph& graph,
                                         const std::vector<Loop>& loops) {
  return Scheduler(graph, loops).Run();
}

}  // namespace foretell::runtime
