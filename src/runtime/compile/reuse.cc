#include "src/runtime/compile/reuse.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "src/graph/index_of.h"
#include "src/runtime/compile/peak_order.h"

// Where the code that Inductor generates takes memory for a result (PyTorch
// 2.13):
//
//   in place   an operand of the same type and at least its size, less 5 %,
//              which a loop reads for the last time, element by element in the
//              same order (SchedulerNode.decide_inplace_update, scheduler.py)
//   reused     a tensor of the same type and size that is no longer needed; it
//              is held until then, so not where that would raise the estimated
//              peak (AllocateLine and FreeIfNotReusedLine, codegen/wrapper.py)
//   new        everything else, and what operators without an out= argument
//              return, convolutions and attention among them
//
// The allocator would find a freed block anyway, so reuse matters little; what
// is written in place never exists twice.

namespace foretell::runtime {
namespace {

constexpr double kLeastShare = 0.95;  // can_match_buffer_size

/// Kinds that torch/_inductor/kernel calls with out=: mm, addmm, bmm.
bool HasOutArgument(OpKind kind) {
  return kind == OpKind::kLinear || kind == OpKind::kMatmul;
}

/// A tensor that is free from a place in the order on.
struct FreeTensor {
  int buffer = 0;
  std::size_t place = 0;
};

class ReusePlanner {
 public:
  ReusePlanner(const OperatorGraph& graph, const std::vector<Loop>& loops,
               const OrderedPass& pass)
      : graph_(graph),
        loops_(loops),
        pass_(pass),
        live_(LiveBytes(pass.buffers, pass.order)),
        is_taken_(pass.buffers.buffers.size(), false),
        lies_in_operand_(pass.buffers.buffers.size(), false) {
    peak_ = *std::ranges::max_element(live_);
    for (int i = 0; i < std::ssize(Buffers()); ++i) {
      index_of_[Buffers()[IndexOf(i)].value] = i;
      left_.push_back(Buffers()[IndexOf(i)].readers.size());
    }
  }

  std::vector<Reuse> Plan() {
    for (std::size_t place = 0; place < pass_.order.size(); ++place) {
      const int kernel = pass_.order[place];
      CountReads(kernel);
      for (const NodeId id : pass_.kernels[IndexOf(kernel)]) Place(id, place);
      Free(kernel, place);
    }
    return std::move(reuses_);
  }

 private:
  using Key = std::pair<DType, std::int64_t>;

  const std::vector<Buffer>& Buffers() const { return pass_.buffers.buffers; }
  Key KeyOf(int buffer) const {
    const Buffer& one = Buffers()[IndexOf(buffer)];
    return {graph_.value(one.value).type.dtype, one.bytes};
  }

  void CountReads(int kernel) {
    reads_.clear();
    for (const NodeId id : pass_.kernels[IndexOf(kernel)]) {
      for (const LoopRead& read : loops_[IndexOf(id)].reads) {
        reads_[read.buffer] += read.in_order ? 1 : 2;
      }
    }
  }

  void Place(NodeId id, std::size_t place) {
    const Node& node = graph_.node(id);
    const Loop& loop = loops_[IndexOf(id)];
    if (loop.kind == LoopKind::kExtern && !HasOutArgument(node.kind)) return;
    for (const ValueId output : node.outputs) {
      const auto made = index_of_.find(output);
      if (made == index_of_.end()) continue;
      const bool is_taken =
          loop.kind == LoopKind::kPointwise && TakeOperand(loop, made->second);
      if (!is_taken && IsInMemory(made->second)) TakeFree(made->second, place);
    }
  }

  bool TakeOperand(const Loop& loop, int made) {
    for (const LoopRead& read : loop.reads) {
      const auto operand = index_of_.find(read.buffer);
      if (operand == index_of_.end() || !IsLastRead(operand->second) ||
          !Fits(operand->second, made)) {
        continue;
      }
      is_taken_[IndexOf(operand->second)] = true;
      lies_in_operand_[IndexOf(made)] = true;
      reuses_.push_back({.made = Buffers()[IndexOf(made)].value,
                         .of = Buffers()[IndexOf(operand->second)].value});
      return true;
    }
    return false;
  }

  /// No other loop reads it from now on, and this one once and in order. What
  /// a kernel alone reads may lie in an operand, for another to lie in both.
  bool IsLastRead(int operand) const {
    const Buffer& buffer = Buffers()[IndexOf(operand)];
    return !buffer.is_result && !is_taken_[IndexOf(operand)] &&
           left_[IndexOf(operand)] <= 1 && reads_.at(buffer.value) == 1 &&
           (IsInMemory(operand) || lies_in_operand_[IndexOf(operand)]);
  }

  bool IsInMemory(int buffer) const {
    const Buffer& one = Buffers()[IndexOf(buffer)];
    return one.is_kept || pass_.reaches_memory[IndexOf(one.value)];
  }

  bool Fits(int operand, int made) const {
    const auto [type, bytes] = KeyOf(operand);
    const auto [made_type, made_bytes] = KeyOf(made);
    return type == made_type && made_bytes <= bytes &&
           static_cast<double>(made_bytes) >=
               kLeastShare * static_cast<double>(bytes);
  }

  void TakeFree(int made, std::size_t place) {
    std::vector<FreeTensor>& free = free_[KeyOf(made)];
    if (free.empty()) return;
    const FreeTensor tensor = free.back();
    if (!MayHold(tensor, made, place)) return;
    free.pop_back();
    reuses_.push_back({.made = Buffers()[IndexOf(made)].value,
                       .of = Buffers()[IndexOf(tensor.buffer)].value});
  }

  /// Whether holding `tensor` until `place` leaves the peak as it is; then it
  /// counts as live.
  bool MayHold(const FreeTensor& tensor, int made, std::size_t place) {
    if (tensor.place + 1 >= place) return true;
    const auto begin = live_.begin() + std::ptrdiff_t(tensor.place) + 1;
    const auto end = live_.begin() + std::ptrdiff_t(place);
    const std::int64_t bytes = Buffers()[IndexOf(made)].bytes;
    if (*std::max_element(begin, end) + bytes > peak_) return false;
    std::for_each(begin, end, [bytes](std::int64_t& at) { at += bytes; });
    return true;
  }

  /// What `kernel` reads for the last time. Tensors kept from an earlier pass
  /// are freed, not reused.
  void Free(int kernel, std::size_t place) {
    const KernelBuffers& buffers = pass_.buffers.kernels[IndexOf(kernel)];
    for (const int buffer : buffers.read) {
      if (--left_[IndexOf(buffer)] == 0) AddFree(buffer, place);
    }
    for (const int buffer : buffers.made) {
      if (left_[IndexOf(buffer)] == 0) AddFree(buffer, place);
    }
  }

  void AddFree(int buffer, std::size_t place) {
    const Buffer& one = Buffers()[IndexOf(buffer)];
    if (one.is_result || one.is_kept || is_taken_[IndexOf(buffer)] ||
        !IsInMemory(buffer)) {
      return;
    }
    free_[KeyOf(buffer)].push_back({buffer, place});
  }

  const OperatorGraph& graph_;
  const std::vector<Loop>& loops_;
  const OrderedPass& pass_;
  std::vector<std::int64_t> live_;
  std::int64_t peak_ = 0;
  std::vector<bool> is_taken_;  ///< Overwritten, by buffer.
  std::vector<bool> lies_in_operand_;
  std::vector<std::size_t> left_;  ///< Readers to come, by buffer.
  std::map<ValueId, int> index_of_;
  /// Loops of the kernel that read a tensor; more than one where out of order.
  std::map<ValueId, int> reads_;
  std::map<Key, std::vector<FreeTensor>> free_;  ///< The newest last.
  std::vector<Reuse> reuses_;
};

}  // namespace

std::vector<Reuse> PlanReuse(const OperatorGraph& graph,
                             const std::vector<Loop>& loops,
                             const OrderedPass& pass) {
  if (pass.order.empty()) return {};
  return ReusePlanner(graph, loops, pass).Plan();
}

}  // namespace foretell::runtime
