#include "src/runtime/compile/concat_slices.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "src/graph/index_of.h"
#include "src/graph/shared_storage.h"
#include "src/graph/strides.h"
#include "src/runtime/compile/loops.h"
#include "src/runtime/compile/primitive_emitter.h"

// ConcatKernel of torch/_inductor/ir.py (PyTorch 2.13): the result is one
// buffer, and each operand is realized into its slice. A loop that Inductor
// generates writes there instead of into a buffer of its own, once; what a
// library's kernel, a view or another slice holds is copied. Copies of one
// tensor into several concatenations, as DenseNet has them, share its read, so
// the scheduler may fuse them.

namespace foretell::runtime {
namespace {

class SliceWriter {
 public:
  explicit SliceWriter(const OperatorGraph& graph)
      : graph_(graph),
        loops_(LowerLoops(graph)),
        emitter_(graph, graph.info(), false) {}

  OperatorGraph Run() {
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      if (IsSliced(id)) PlaceOperands(graph_.node(id));
    }
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Node& node = graph_.node(id);
      emitter_.Begin(node);
      if (IsSliced(id)) {
        AddSlices(node);
      } else {
        emitter_.Copy(node, true);
      }
    }
    return emitter_.Finish();
  }

 private:
  bool IsSliced(NodeId id) const {
    const Node& node = graph_.node(id);
    return node.kind == OpKind::kConcat && node.outputs.size() == 1 &&
           loops_[IndexOf(id)].kind == LoopKind::kExtern;
  }

  void PlaceOperands(const Node& concat) {
    const ValueId whole = concat.outputs.front();
    for (const ValueId id : concat.inputs) {
      if (!IsWrittenInPlace(concat, id)) continue;
      placed_.emplace(id, whole);
      taken_.insert(graph_.value(id).storage);
      emitter_.ShareStorage(id, whole);
    }
  }

  /// Made by a generated loop of the same pass, for the first concatenation.
  bool IsWrittenInPlace(const Node& concat, ValueId id) const {
    const Value& value = graph_.value(id);
    const Value& whole = graph_.value(concat.outputs.front());
    if (value.producer == kNone || taken_.contains(value.storage) ||
        value.type.dtype != whole.type.dtype ||
        std::ranges::count(graph_.outputs(), id) > 0) {
      return false;
    }
    const Node& producer = graph_.node(value.producer);
    const LoopKind kind = loops_[IndexOf(value.producer)].kind;
    return (kind == LoopKind::kPointwise || kind == LoopKind::kReduction) &&
           producer.phase == concat.phase && producer.outputs.size() == 1 &&
           !LiesInOperand(graph_, producer, id);
  }

  void AddSlices(const Node& concat) {
    const ValueId whole = concat.outputs.front();
    std::vector<ValueId> slices;
    for (const ValueId id : concat.inputs) {
      const bool is_placed = placed_.contains({id, whole}) &&
                             std::ranges::count(slices, emitter_.Now(id)) == 0;
      slices.push_back(is_placed ? emitter_.Now(id)
                                 : emitter_.EmitSlice(whole, emitter_.Now(id)));
    }
    emitter_.AddKernel("alias", std::move(slices), {whole});
  }

  const OperatorGraph& graph_;
  const std::vector<Loop> loops_;
  PrimitiveEmitter emitter_;
  std::set<std::pair<ValueId, ValueId>> placed_;  ///< Operand and result.
  std::set<StorageId> taken_;
};

}  // namespace

OperatorGraph WriteConcatSlices(const OperatorGraph& graph) {
  return SliceWriter(graph).Run();
}

bool JoinsSlices(const OperatorGraph& graph, const Node& node) {
  return node.kind == OpKind::kView && node.inputs.size() > 1 &&
         node.outputs.size() == 1 &&
         std::ranges::all_of(node.inputs, [&](ValueId id) {
           return graph.value(id).storage ==
                  graph.value(node.outputs.front()).storage;
         });
}

}  // namespace foretell::runtime
