#include "src/runtime/compile/loops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "src/graph/attributes.h"
#include "src/graph/index_of.h"
#include "src/graph/kind_sets.h"
#include "src/graph/shared_storage.h"
#include "src/graph/strides.h"
#include "src/runtime/compile/concat_slices.h"

// Lowering in torch/_inductor (PyTorch 2.13): lowering.py says which operators
// are loops, GraphLowering.run_node (graph.py) and StorageBox (ir.py) which of
// them are stored:
//
//   reductions      always
//   element-wise    if the step returns them, a library's kernel reads them, a
//                   reader with a window would compute them again too often,
//                   they have more than 4 reads or a long body and several
//                   readers, or more than 8 reads
//
// All others are computed by each of their readers. A tensor that the backward
// pass reads is stored: it is another function.

namespace foretell::runtime {
namespace {

/// torch/_inductor/config.py.
constexpr std::size_t kReusedReads = 4;       // realize_reads_threshold
constexpr std::size_t kMostReads = 8;         // realize_acc_reads_threshold
constexpr std::int64_t kMostOperations = 30;  // realize_opcount_threshold
constexpr std::size_t kMostConcatenated = 8;  // max_pointwise_cat_inputs
/// Loads, constants and casts of an operator's body, in addition to itself.
constexpr std::int64_t kOperationsEach = 2;
/// Window of a pooling from which on it is left to PyTorch (lowering.py).
constexpr std::int64_t kMostWindow = 25;
constexpr std::int64_t kUnrolledRow = 8;  // unroll_reductions_threshold

/// In addition to those of elements.
constexpr auto kPointwiseKinds = std::to_array<OpKind>(
    {OpKind::kView, OpKind::kCopy, OpKind::kCast, OpKind::kPad,
     OpKind::kUpsample, OpKind::kGather, OpKind::kEmbedding, OpKind::kFill,
     OpKind::kRandom, OpKind::kDropout, OpKind::kBatchNorm, OpKind::kScatter});

constexpr auto kWindowKinds = std::to_array<OpKind>(
    {OpKind::kMaxPool, OpKind::kAveragePool, OpKind::kPoolBackward});

/// Reductions by sorting.
constexpr std::string_view kSortedReductions[] = {
    "median", "nanmedian", "mode", "quantile", "nanquantile", "kthvalue"};

/// Views that keep the order of the elements.
constexpr std::string_view kOrderedViews[] = {
    "view",       "reshape", "_unsafe_view", "view_as",   "flatten",
    "unflatten",  "squeeze", "unsqueeze",    "expand",    "expand_as",
    "contiguous", "detach",  "alias",        "to",        "clone",
    "reshape_as", "ravel",   "broadcast_to", "lift_fresh"};
constexpr std::size_t kImageRank = 4;

bool IsOneOf(std::span<const OpKind> kinds, OpKind kind) {
  return std::ranges::count(kinds, kind) > 0;
}

class LoopLowering {
 public:
  explicit LoopLowering(const OperatorGraph& graph)
      : graph_(graph),
        loops_(graph.nodes().size()),
        users_(graph.values().size()),
        is_output_(graph.values().size(), false) {}

  std::vector<Loop> Run() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      LoopOf(id).kind = KindOf(graph_.node(id));
    }
    ListUsers();
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) Lower(id);
    return std::move(loops_);
  }

 private:
  Loop& LoopOf(NodeId id) { return loops_[IndexOf(id)]; }
  std::int64_t Elements(ValueId id) const {
    return graph_.value(id).type.NumElements();
  }

  bool SharesStorage(const Node& node) const {
    return !node.outputs.empty() &&
           std::ranges::all_of(node.outputs, [&](ValueId output) {
             return LiesInOperand(graph_, node, output);
           });
  }

  static bool IsReduction(const Node& node) {
    return node.kind == OpKind::kReduce || node.kind == OpKind::kArgReduce;
  }

  LoopKind KindOf(const Node& node) const {
    if (node.phase == Phase::kOptimizer || node.outputs.empty()) {
      return LoopKind::kExtern;
    }
    const bool may_be_view =
        node.kind == OpKind::kView || node.kind == OpKind::kCopy ||
        node.kind == OpKind::kCast || node.kind == OpKind::kDropout ||
        node.kind == OpKind::kPad;
    // So that its slices are written before it, and none is computed again.
    if (JoinsSlices(graph_, node)) return LoopKind::kExtern;
    if (may_be_view && SharesStorage(node) &&
        (node.kind == OpKind::kView || !node.target.ends_with('_'))) {
      return LoopKind::kView;
    }
    if (!node.calls.empty() || IsComplex(node)) return LoopKind::kExtern;
    if (IsReduction(node)) {
      const bool sorts = std::ranges::count(kSortedReductions, node.target) > 0;
      if (sorts || node.inputs.empty()) return LoopKind::kExtern;
      return IsUnrolled(node) ? LoopKind::kPointwise : LoopKind::kReduction;
    }
    if (node.kind == OpKind::kConcat) {
      return node.inputs.size() <= kMostConcatenated ? LoopKind::kPointwise
                                                     : LoopKind::kExtern;
    }
    if (IsOneOf(kWindowKinds, node.kind)) return WindowKind(node);
    return IsElementwiseKind(node.kind) || IsOneOf(kPointwiseKinds, node.kind)
               ? LoopKind::kPointwise
               : LoopKind::kExtern;
  }

  /// Nothing is generated for complex numbers
  /// (fallback_node_due_to_unsupported_type, lowering.py).
  bool IsComplex(const Node& node) const {
    const auto is_complex = [this](ValueId id) {
      const DType dtype = graph_.value(id).type.dtype;
      return dtype == DType::kC64 || dtype == DType::kC128;
    };
    return std::ranges::any_of(node.inputs, is_complex) ||
           std::ranges::any_of(node.outputs, is_complex);
  }

  /// A sum of a few elements is written out.
  bool IsUnrolled(const Node& node) const {
    return node.outputs.size() == 1 && RowOf(node) < kUnrolledRow &&
           node.FindAttribute(kPartsAttribute) == nullptr;
  }
  std::int64_t RowOf(const Node& node) const {
    const std::int64_t rows =
        std::max<std::int64_t>(1, Elements(node.outputs.front()));
    return std::max<std::int64_t>(1, Elements(node.inputs.front()) / rows);
  }

  /// Elements of the window of a pooling, or of a sum that is written out; 1 of
  /// every other operator.
  std::int64_t WindowOf(const Node& node) const {
    if (IsReduction(node)) return IsUnrolled(node) ? RowOf(node) : 1;
    if (!IsOneOf(kWindowKinds, node.kind)) return 1;
    std::vector<std::int64_t> window = node.Ints("kernel_size", {});
    if (window.size() == 1) window.push_back(window.front());
    std::int64_t elements = 1;
    for (const std::int64_t extent : window) elements *= extent;
    return elements;
  }

  LoopKind WindowKind(const Node& node) const {
    const bool is_plain = node.target.find("3d") == std::string::npos &&
                          node.target.find("adaptive") == std::string::npos;
    return is_plain && node.FindAttribute("kernel_size") != nullptr &&
                   WindowOf(node) <= kMostWindow
               ? LoopKind::kPointwise
               : LoopKind::kExtern;
  }

  /// The value that `id` is a view of.
  ValueId BaseOf(ValueId id) const {
    NodeId producer = graph_.value(id).producer;
    while (producer != kNone &&
           loops_[IndexOf(producer)].kind == LoopKind::kView) {
      id = graph_.node(producer).inputs.front();
      producer = graph_.value(id).producer;
    }
    return id;
  }

  /// Permutations to and from channels-last keep the order of images that lie
  /// so.
  bool KeepsOrder(const Node& view) const {
    if (std::ranges::count(kOrderedViews, view.target) > 0) return true;
    if (view.target != "permute") return false;
    const auto dims = view.Ints("dims", {});
    const Value& from = graph_.value(view.inputs.front());
    return dims.size() == kImageRank &&
           ((dims == Shape{0, 2, 3, 1} && IsChannelsLast(from)) ||
            dims == Shape{0, 3, 1, 2});
  }

  bool IsInOrder(ValueId id) const {
    NodeId producer = graph_.value(id).producer;
    while (producer != kNone &&
           loops_[IndexOf(producer)].kind == LoopKind::kView) {
      if (!KeepsOrder(graph_.node(producer))) return false;
      id = graph_.node(producer).inputs.front();
      producer = graph_.value(id).producer;
    }
    return true;
  }

  void ListUsers() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      if (LoopOf(id).kind == LoopKind::kView) continue;
      for (const ValueId input : graph_.node(id).inputs) {
        std::vector<NodeId>& users = users_[IndexOf(BaseOf(input))];
        if (users.empty() || users.back() != id) users.push_back(id);
      }
    }
    for (const ValueId id : graph_.outputs()) {
      is_output_[IndexOf(id)] = is_output_[IndexOf(BaseOf(id))] = true;
    }
  }

  void AddRead(Loop& loop, const LoopRead& read) {
    const auto same = std::ranges::find_if(loop.reads, [&](const LoopRead& r) {
      return r.buffer == read.buffer && r.in_order == read.in_order &&
             (r.in_order || r.value == read.value);
    });
    if (same == loop.reads.end()) loop.reads.push_back(read);
  }

  void AddInput(Loop& loop, ValueId input, bool has_window) {
    const ValueId base = BaseOf(input);
    const NodeId producer = graph_.value(base).producer;
    const bool in_order = !has_window && IsInOrder(input);
    if (producer == kNone || LoopOf(producer).is_buffer) {
      return AddRead(loop, {base, input, in_order});
    }
    const Loop inlined = LoopOf(producer);
    for (LoopRead read : inlined.reads) {
      read.in_order &= in_order;
      AddRead(loop, read);
    }
    for (const NodeId id : inlined.inlined) AddInlined(loop, id);
    AddInlined(loop, producer);
  }

  static void AddInlined(Loop& loop, NodeId id) {
    if (std::ranges::count(loop.inlined, id) == 0) loop.inlined.push_back(id);
  }

  void Lower(NodeId id) {
    Loop& loop = LoopOf(id);
    const Node& node = graph_.node(id);
    if (loop.kind == LoopKind::kView) return;
    const bool has_window = WindowOf(node) > 1;
    const bool is_update = UpdatesFirst(node);
    const bool moves = node.kind == OpKind::kScatter && !is_update;
    for (const ValueId input : node.inputs) {
      AddInput(
          loop, input,
          has_window || moves || (is_update && input == node.inputs.front()));
    }
    if (node.outputs.empty()) return;
    loop.rows = Elements(is_update ? node.inputs.back() : node.outputs.front());
    loop.operations = WindowOf(node) + std::ssize(loop.inlined);
    if (loop.kind == LoopKind::kReduction) SetRow(node, loop);
    if (loop.kind == LoopKind::kPointwise)
      loop.is_buffer = IsStored(node, loop);
  }

  /// Adds to elements of its first operand that the others say.
  static bool UpdatesFirst(const Node& node) {
    return node.kind == OpKind::kScatter && node.target.ends_with('_');
  }

  void SetRow(const Node& node, Loop& loop) const {
    const TensorType& input = graph_.value(node.inputs.front()).type;
    loop.row_elements = RowOf(node);
    const auto dims = DimsOf(node, "dim", input.shape.size());
    if (!dims || dims->empty()) return;
    std::vector<std::size_t> sorted = *dims;
    std::ranges::sort(sorted);
    loop.is_inner = sorted.back() + 1 == input.shape.size() &&
                    sorted.back() - sorted.front() + 1 == sorted.size();
    const Value& value = graph_.value(node.inputs.front());
    if (IsChannelsLast(value) && sorted.back() > 1) loop.is_inner = false;
    loop.steps_by_one = MostStepByOne(loop, value, sorted);
  }

  /// Whether more of what is read as `operand` is has neighbours in memory
  /// along `dims` than not.
  bool MostStepByOne(const Loop& loop, const Value& operand,
                     std::span<const std::size_t> dims) const {
    const auto steps = [dims](const Value& value) {
      const Strides strides = StridesOf(value);
      return std::ranges::any_of(dims, [&](std::size_t dim) {
        return strides[dim] == 1 && value.type.shape[dim] > 1;
      });
    };
    int inner = 0, outer = 0;
    for (const LoopRead& read : loop.reads) {
      const Value& value = graph_.value(read.value);
      if (value.type.shape != operand.type.shape) continue;
      ++(steps(value) ? inner : outer);
    }
    return inner + outer == 0 ? steps(operand) : inner > outer;
  }

  bool IsStored(const Node& node, const Loop& loop) const {
    if (SharesStorage(node)) return true;  // Updates a tensor.
    if (node.outputs.size() > 1 && HasSeveralUsedResults(node)) return true;
    // Each element of a window is a read.
    const auto elements = static_cast<std::size_t>(WindowOf(node));
    if (std::max(elements, loop.reads.size()) > kMostReads) return true;
    return std::ranges::any_of(node.outputs, [&](ValueId result) {
      return IsReadFromMemory(node, loop, result);
    });
  }

  bool IsReadFromMemory(const Node& node, const Loop& loop,
                        ValueId result) const {
    if (is_output_[IndexOf(result)]) return true;
    const std::vector<NodeId>& users = users_[IndexOf(result)];
    const bool is_long =
        kOperationsEach * loop.operations + std::ssize(loop.reads) >
        kMostOperations;
    if (users.size() > 1 && (loop.reads.size() > kReusedReads || is_long)) {
      return true;
    }
    return std::ranges::any_of(users, [&](NodeId user) {
      const Node& reader = graph_.node(user);
      const bool has_window = IsOneOf(kWindowKinds, reader.kind) ||
                              reader.kind == OpKind::kUpsample;
      return loops_[IndexOf(user)].kind == LoopKind::kExtern ||
             reader.phase != node.phase ||
             (UpdatesFirst(reader) && reader.inputs.front() == result) ||
             (has_window && loop.reads.size() > 1);
    });
  }

  bool HasSeveralUsedResults(const Node& node) const {
    return std::ranges::count_if(node.outputs, [&](ValueId id) {
             return !users_[IndexOf(id)].empty() || is_output_[IndexOf(id)];
           }) > 1;
  }

  const OperatorGraph& graph_;
  std::vector<Loop> loops_;
  std::vector<std::vector<NodeId>> users_;  ///< By value.
  std::vector<bool> is_output_;             ///< By value.
};

}  // namespace

std::vector<Loop> LowerLoops(const OperatorGraph& graph) {
  return LoopLowering(graph).Run();
}

}  // namespace foretell::runtime
