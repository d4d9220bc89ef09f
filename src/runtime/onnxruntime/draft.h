#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/index_of.h"

#include "foretell/graph.h"

namespace foretell::runtime::ort {

/// Index of a tensor in Draft::tensors.
using TensorId = std::int32_t;

/// A tensor of ONNX: row-major unless it is a source.
struct DraftTensor {
  std::string name;
  TensorType type;
  /// Of an input or initializer: the tensor of the recorded graph. kNone: the
  /// result of a node, or folded.
  ValueId source = kNone;
  /// Known when the session is created: an initializer, or folded into one.
  bool constant = false;
  bool on_cpu = false;  ///< Takes no memory of the GPU.
  /// Of a transposed operand that a product reads as it is; empty: row-major.
  std::vector<std::int64_t> strides = {};
};

/// An operator that ONNX Runtime runs, or that a kernel contains.
struct DraftNode {
  std::string target;  ///< Empty: removed.
  OpKind kind = OpKind::kOther;
  std::string scope;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  Attributes attributes;
  std::vector<DraftNode> calls = {};  ///< See src/runtime/README.md.
  bool aliases = false;  ///< Its result is its first operand's memory.
  bool writes = false;   ///< Updates its first operand: never unused.
  bool whole = false;    ///< Attention that is one node of the file.
  /// The recorded operator whose own calls it keeps; kNone: it has none.
  NodeId recorded = kNone;
};

/// A graph of ONNX operators that passes rewrite.
struct Draft {
  const OperatorGraph* graph = nullptr;  ///< The recorded one; not null.
  std::vector<DraftTensor> tensors;
  std::vector<DraftNode> nodes;  ///< In the order in which they run.
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  /// The session knows the sizes of all inputs before it plans.
  bool knows_sizes = false;

  const TensorType& TypeOf(TensorId id) const {
    return tensors[static_cast<std::size_t>(id)].type;
  }
  bool IsConstant(TensorId id) const {
    return tensors[static_cast<std::size_t>(id)].constant;
  }
  /// An empty name becomes "ort." and a number.
  TensorId AddTensor(TensorType type, std::string name = {});
};

/// `node` as PyTorch recorded it, for attribute_rules' readers.
Node AsNode(const DraftNode& node);

/// A node with one result.
DraftNode MakeNode(std::string_view target, std::vector<TensorId> inputs,
                   TensorId output, const std::string& scope,
                   Attributes attributes = {});

/// One kernel of several operators, the last of which gives its result; it
/// reads what none of them makes. See src/runtime/README.md.
DraftNode Fuse(std::string_view target, std::vector<DraftNode> parts);

/// Who reads and makes the tensors of a draft at the moment.
class Uses {
 public:
  explicit Uses(const Draft& draft);

  /// Index of the node that makes `id`; -1 for a source.
  std::ptrdiff_t Producer(TensorId id) const { return producer_[IndexOf(id)]; }
  /// Index of the one node that reads `id`, once; -1 if there are more or
  /// none, or if the network returns it.
  std::ptrdiff_t SoleReader(TensorId id) const {
    return count_[IndexOf(id)] == 1 ? reader_[IndexOf(id)] : -1;
  }
  int Count(TensorId id) const { return count_[IndexOf(id)]; }

 private:
  std::vector<std::ptrdiff_t> producer_;
  std::vector<std::ptrdiff_t> reader_;
  std::vector<int> count_;
};

/// By tensor: whether the session knows its shape in the run only.
std::vector<bool> UnknownSizes(const Draft& draft);

/// Lets every reader of `from`, and the network's results, read `to`.
void Replace(Draft& draft, TensorId from, TensorId to);

/// Drops removed nodes and those whose results nothing reads.
void DropUnused(Draft& draft);

/// The recorded inference step as its export to ONNX: without copies and modes
/// that only PyTorch has, and with operators that update in place giving new
/// results.
Draft MakeDraft(const OperatorGraph& graph);

/// The graph of `draft`, with the storages that ONNX Runtime's planner assigns.
OperatorGraph BuildGraph(const Draft& draft, const RuntimeSpec& spec);

}  // namespace foretell::runtime::ort
