#include "src/runtime/compile/split_loops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/checked.h"
#include "src/graph/convolution.h"
#include "src/graph/index_of.h"
#include "src/runtime/compile/loops.h"
#include "src/runtime/compile/primitive_emitter.h"

// Inductor's split of a reduction (Reduction.num_splits in
// torch/_inductor/ir.py and InductorChoices.reduction_split_factor in
// choices.py, PyTorch 2.13), for the multiprocessors of an H100: other GPUs
// split other sizes, most of them alike. The parts of a variance are split
// again by the same rule, if they are many
// (WelfordReduction.create_multilayer); those of other reductions are not. Not
// modelled: a sum over all of a sum, which takes over the rows of the latter.

namespace foretell::runtime {
namespace {

constexpr std::int64_t kMultiprocessors = 132;
constexpr std::int64_t kThreads = 2048;  ///< Of a multiprocessor.
constexpr std::int64_t kLeastEach = 32;  ///< Elements of a thread.
constexpr std::int64_t kMostEach = 512;
constexpr std::int64_t kUnsplitRow = 8192;
constexpr std::int64_t kBlock = 256;    ///< Threads of a block of long rows.
constexpr std::int64_t kColumns = 128;  ///< Rows of a block side by side.
constexpr std::int64_t kColumnStep = 4;
constexpr std::int64_t kLeastOfDevice =
    kLeastEach * kMultiprocessors * kThreads;
constexpr std::int64_t kMostOfDevice = kMostEach * kMultiprocessors * kThreads;

/// The divisor of `number` nearest to `near`, the smaller of two.
std::int64_t NearestDivisor(std::int64_t number, std::int64_t near) {
  for (std::int64_t away = 0;; ++away) {
    for (const std::int64_t divisor : {near - away, near + away}) {
      if (divisor > 0 && number % divisor == 0) return divisor;
    }
  }
}

/// A divisor of `row` if one is less than `tolerance` from `size`, else `size`.
std::int64_t EvenSize(std::int64_t row, std::int64_t size,
                      std::int64_t tolerance, std::int64_t least) {
  const std::int64_t divisor = NearestDivisor(row, size);
  return std::abs(divisor - size) < tolerance ? std::max(divisor, least) : size;
}

std::int64_t PartsOfLongRow(std::int64_t row, std::int64_t rows) {
  if (rows >= 2 * kMultiprocessors || row <= kUnsplitRow) return 1;
  std::int64_t each = kLeastEach;
  if (row * rows >= kMostOfDevice) {
    each = EvenSize(row, kMostEach, 50, 1);
  } else if (row * rows > kLeastOfDevice) {
    const std::int64_t blocks =
        CeilDiv(kMultiprocessors * kThreads / (2 * kBlock), rows);
    each = EvenSize(row, CeilDiv(row, kBlock * blocks), 30, kLeastEach);
  }
  return CeilDiv(row, each * kBlock);
}

std::int64_t PartsOfColumn(std::int64_t row, std::int64_t rows) {
  std::int64_t each = kLeastEach;
  if (row * rows >= kMostOfDevice) {
    each = EvenSize(row, kMostEach, 50, 1);
  } else if (row * rows >= kLeastOfDevice) {
    const std::int64_t blocks =
        CeilDiv(kMultiprocessors * kThreads / kBlock, CeilDiv(rows, kColumns));
    each = EvenSize(row, CeilDiv(row, kColumnStep * blocks), 20, kLeastEach);
  }
  return CeilDiv(row, kColumnStep * each);
}

/// Parts of each row that are reduced on their own; 1: none.
std::int64_t PartsOf(const Loop& loop) {
  const std::int64_t row = loop.row_elements;
  if (loop.kind != LoopKind::kReduction) return 1;
  if (loop.rows == 1) return PartsOfLongRow(row, 1);
  if (row <= kLeastEach || loop.rows >= 2 * kMultiprocessors * kLeastEach) {
    return 1;
  }
  return loop.steps_by_one ? PartsOfLongRow(row, loop.rows)
                           : PartsOfColumn(row, loop.rows);
}

constexpr std::size_t kBias = 2;  ///< Operand of a convolution.

/// Gradients that are added up in a tensor of zeros, with the places of the
/// gradient and of the indices among the operands.
struct Scatter {
  std::string_view target;
  std::size_t gradient, indices;
};
constexpr auto kScatters = std::to_array<Scatter>({
    {"embedding_backward", 0, 1},
    {"max_pool2d_with_indices_backward", 0, 1},
    {"scatter_add", 2, 1},
});

class LoopSplitter {
 public:
  explicit LoopSplitter(const OperatorGraph& graph)
      : graph_(graph),
        loops_(LowerLoops(graph)),
        emitter_(graph, graph.info(), false) {}

  OperatorGraph Run() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      emitter_.Begin(graph_.node(id));
      Add(id);
    }
    return emitter_.Finish();
  }

 private:
  void Add(NodeId id) {
    const Node& node = graph_.node(id);
    const auto* const scatter =
        std::ranges::find(kScatters, node.target, &Scatter::target);
    if (scatter != kScatters.end()) return AddScatter(node, *scatter);
    if (IsForwardConvolution(node.kind) && node.inputs.size() > kBias) {
      return AddBiased(node);
    }
    const Loop& loop = loops_[IndexOf(id)];
    const std::int64_t parts = PartsOf(loop);
    if (parts > 1) return AddParts(node, loop, parts);
    emitter_.Copy(node, true);
  }

  /// The bias of a convolution is a loop, which fuses with what follows
  /// (`convolution` of kernel/conv.py); in the partition it is part of it.
  void AddBiased(const Node& node) {
    const ValueId result = node.outputs.front();
    const ValueId product = emitter_.EmitLike(
        node.target,
        {emitter_.Now(node.inputs[0]), emitter_.Now(node.inputs[1])}, result,
        node.attributes);
    emitter_.AddKernel("add", {product, emitter_.Now(node.inputs[kBias])},
                       {result});
  }

  void AddScatter(const Node& node, const Scatter& scatter) {
    const ValueId result = node.outputs.front();
    emitter_.AddKernel("full", {}, {result});
    const ValueId into = emitter_.Now(result);
    emitter_.Set(result, emitter_.EmitInto(
                             into, "scatter_add_",
                             {into, emitter_.Now(node.inputs[scatter.indices]),
                              emitter_.Now(node.inputs[scatter.gradient])}));
  }

  void AddParts(const Node& node, Loop loop, std::int64_t parts) {
    std::vector<ValueId> made = {emitter_.Now(node.inputs.front())};
    Attributes attributes = node.attributes;
    while (parts > 1) {
      made = EmitParts(node, std::move(made), parts, attributes);
      attributes = OfParts(node);
      loop.row_elements = parts;
      parts = IsVariance(node) ? PartsOf(loop) : 1;
    }
    emitter_.AddKernel(node.target, made, node.outputs, attributes);
  }

  /// A variance has a third intermediate result, the number of elements.
  static bool IsVariance(const Node& node) { return node.outputs.size() > 1; }

  /// What the parts of each row of `operands` give.
  std::vector<ValueId> EmitParts(const Node& node,
                                 std::vector<ValueId> operands,
                                 std::int64_t parts,
                                 const Attributes& attributes) {
    TensorType type = graph_.value(node.outputs.front()).type;
    type.shape.push_back(parts);
    const std::size_t results = IsVariance(node) ? node.outputs.size() + 1 : 1;
    return emitter_.EmitAll(node.target, std::move(operands),
                            std::vector<TensorType>(results, type), attributes);
  }

  /// Attributes of the reduction of `node` over its parts.
  Attributes OfParts(const Node& node) const {
    const Shape last = {
        std::ssize(graph_.value(node.outputs.front()).type.shape)};
    return {{"dim", last}, {std::string(kPartsAttribute), true}};
  }

  const OperatorGraph& graph_;
  const std::vector<Loop> loops_;
  PrimitiveEmitter emitter_;
};

}  // namespace

OperatorGraph SplitLoops(const OperatorGraph& graph) {
  return LoopSplitter(graph).Run();
}

}  // namespace foretell::runtime
