// Live bytes of a trace on meta against those of a real run.
//
// Both traces list (almost) the same operators. Where the CPU takes other ones,
// above all in the backward pass of what it composes and CUDA fuses, the
// longest common subsequence of the two lists says which operators correspond,
// and live bytes are compared after each of these.

#include "tests/program/memory_truth.h"

#include <algorithm>
#include <utility>

namespace foretell::program_test {
namespace {

const ExplainedOperator* Find(const std::vector<ExplainedOperator>& explained,
                              const std::string& target) {
  for (const ExplainedOperator& row : explained) {
    if (row.target == target) return &row;
  }
  return nullptr;
}

bool HasComparableBackward(const OperatorGraph& graph,
                           const std::vector<ExplainedOperator>& explained) {
  return std::none_of(
      graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
        const ExplainedOperator* row = Find(explained, node.target);
        return row != nullptr && row->has_other_backward;
      });
}

/// Live bytes after every node of `graph`.
std::vector<std::int64_t> LiveBytes(
    const OperatorGraph& graph,
    const std::vector<ExplainedOperator>& explained) {
  std::vector<bool> counts(graph.storages().size(), false);
  std::vector<bool> is_result(graph.storages().size(), false);
  for (const Value& value : graph.values()) {
    counts[static_cast<std::size_t>(value.storage)] = true;
  }
  for (const Node& node : graph.nodes()) {
    for (const ValueId output : node.outputs) {
      is_result[static_cast<std::size_t>(graph.value(output).storage)] = true;
    }
  }
  std::vector<std::int64_t> change(graph.nodes().size() + 1, 0);
  for (const MemoryEvent& event : graph.events()) {
    const auto storage = static_cast<std::size_t>(event.storage);
    const bool born = event.kind == MemoryEvent::Kind::kAllocate;
    if (born && event.node != kNone && !is_result[storage] &&
        Find(explained, graph.node(event.node).target) != nullptr) {
      counts[storage] = false;
    }
    if (!counts[storage]) continue;
    const std::int64_t bytes = graph.storages()[storage].bytes;
    change[static_cast<std::size_t>(event.node + 1)] += born ? bytes : -bytes;
  }
  std::vector<std::int64_t> live;
  std::int64_t bytes = change[0];
  for (std::size_t i = 1; i < change.size(); ++i) {
    bytes += change[i];
    live.push_back(bytes);
  }
  return live;
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// Longest common subsequence of the two graphs' targets.
Pairs Align(const OperatorGraph& a, const OperatorGraph& b) {
  const std::size_t rows = a.nodes().size();
  const std::size_t columns = b.nodes().size();
  std::vector<std::vector<int>> length(rows + 1,
                                       std::vector<int>(columns + 1, 0));
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t k = columns; k-- > 0;) {
      length[i][k] = a.nodes()[i].target == b.nodes()[k].target
                         ? length[i + 1][k + 1] + 1
                         : std::max(length[i + 1][k], length[i][k + 1]);
    }
  }
  Pairs pairs;
  for (std::size_t i = 0, k = 0; i < rows && k < columns;) {
    if (a.nodes()[i].target == b.nodes()[k].target) {
      pairs.emplace_back(i++, k++);
    } else if (length[i + 1][k] >= length[i][k + 1]) {
      ++i;
    } else {
      ++k;
    }
  }
  return pairs;
}

std::set<std::string> Unmatched(const OperatorGraph& meta,
                                const OperatorGraph& cpu, const Pairs& pairs) {
  std::vector<bool> in_meta(meta.nodes().size(), false);
  std::vector<bool> in_cpu(cpu.nodes().size(), false);
  for (const auto& [i, k] : pairs) in_meta[i] = in_cpu[k] = true;
  std::set<std::string> targets;
  for (std::size_t i = 0; i < in_meta.size(); ++i) {
    if (!in_meta[i]) targets.insert(meta.nodes()[i].target);
  }
  for (std::size_t k = 0; k < in_cpu.size(); ++k) {
    if (!in_cpu[k]) targets.insert(cpu.nodes()[k].target);
  }
  return targets;
}

}  // namespace

std::vector<MemoryPoint> MemoryComparison::Differences() const {
  std::vector<MemoryPoint> different;
  for (const MemoryPoint& point : points) {
    if (point.meta_bytes != point.cpu_bytes) different.push_back(point);
  }
  return different;
}

std::vector<MemoryPoint> MemoryComparison::Jumps() const {
  std::vector<MemoryPoint> jumps;
  std::int64_t before = 0;
  for (const MemoryPoint& point : points) {
    const std::int64_t difference = point.cpu_bytes - point.meta_bytes;
    if (difference != 0 && difference != before) jumps.push_back(point);
    before = difference;
  }
  return jumps;
}

std::int64_t MemoryComparison::PeakOnMeta() const {
  std::int64_t peak = 0;
  for (const MemoryPoint& point : points) {
    peak = std::max(peak, point.meta_bytes);
  }
  return peak;
}

std::int64_t MemoryComparison::PeakOnCpu() const {
  std::int64_t peak = 0;
  for (const MemoryPoint& point : points) {
    peak = std::max(peak, point.cpu_bytes);
  }
  return peak;
}

MemoryComparison CompareMemory(
    const OperatorGraph& meta, const OperatorGraph& cpu,
    const std::vector<ExplainedOperator>& explained) {
  const std::vector<std::int64_t> on_meta = LiveBytes(meta, explained);
  const std::vector<std::int64_t> on_cpu = LiveBytes(cpu, explained);
  const Pairs pairs = Align(meta, cpu);
  const bool with_backward = HasComparableBackward(meta, explained);
  MemoryComparison comparison;
  for (const auto& [i, k] : pairs) {
    if (!with_backward && meta.nodes()[i].phase == Phase::kBackward) continue;
    comparison.points.push_back({static_cast<NodeId>(i), meta.nodes()[i].target,
                                 on_meta[i], on_cpu[k]});
  }
  comparison.unmatched = Unmatched(meta, cpu, pairs);
  return comparison;
}

std::vector<ExplainedOperator> ExplainedOperators() {
  return {
      {"dropout",
       "the CPU keeps its mask in the input's type, CUDA one byte per element"},
      {"scaled_dot_product_attention",
       "the CPU has a FlashAttention of its own; CUDA's efficient kernel pads "
       "the log-sum-exp and keeps a random state"},
      {"lstm", "the CPU keeps oneDNN's workspace, CUDA cuDNN's reserve"},
      {"gru", "the CPU composes it of operators, CUDA keeps cuDNN's reserve",
       true},
  };
}

}  // namespace foretell::program_test
