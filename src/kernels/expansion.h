#pragma once

#include <cstdint>
#include <vector>

#include "foretell/graph.h"
#include "src/kernels/kernels.h"
#include "src/kernels/tensors.h"

namespace foretell::cost {

/// Bytes of an element of f16.
inline constexpr std::int64_t kHalfBytes = 2;

/// A graph on its way to kernels: what its tensors are and what was launched.
struct Expansion {
  Expansion(const OperatorGraph& graph_in, const Run& mode_in)
      : graph(graph_in), mode(mode_in), tensors(graph_in) {}

  const OperatorGraph& graph;
  const Run& mode;
  Tensors tensors;
  std::vector<Kernel> kernels;
};

/// A node that is being expanded, with its operands as they will be read.
struct ExpandedNode {
  const Node& node;
  NodeId id = kNone;
  std::vector<ValueId> operands;  ///< See ReadOperands.

  ValueId result() const { return node.outputs.front(); }
};

/// How a node reads its operands.
struct LayoutEffect {
  bool channels_last = false;
  bool mixed = false;
  bool transposes = false;  ///< Kernel::transposes.
};

/// Appends the kernels of `node`, which is the graph's node `id` or a call that
/// one makes inside, to the expansion's.
void ExpandNode(Expansion& expansion, const Node& node, NodeId id);

/// Emits the copies that the operator makes because it cannot use an operand's
/// strides.
LayoutEffect ExpandLayout(Expansion& expansion, const ExpandedNode& expanded);

/// Emits the copies of results that the operator's kernel leaves in another
/// layout than theirs.
void ExpandResultCopies(Expansion& expansion, const ExpandedNode& expanded);

/// Sets rows of `elements` each, `step` apart, among the elements of `shape`.
void SetRows(const Shape& shape, std::int64_t elements, std::int64_t step,
             Kernel& kernel);

/// True for the backward operator of a convolution whose operands are there.
bool IsConvolutionGradient(const Node& node);

/// Emits a kernel for each of the gradients of input, weight and bias that the
/// node is asked for. Requires IsConvolutionGradient.
void ExpandConvolutionGradients(Expansion& expansion,
                                const ExpandedNode& expanded);

/// Fills in what depends on the kind of operator: class, product, window,
/// inner extent. Requires at least one result.
void DescribeKernel(const Expansion& expansion, const ExpandedNode& expanded,
                    Kernel& kernel);

/// Adds what `kernel` reads of `id`.
inline void CountRead(const Tensors& tensors, ValueId id, Kernel& kernel) {
  (tensors.IsWeight(id) ? kernel.bytes_weight : kernel.bytes_in) +=
      tensors.Bytes(id);
}

/// True for a padding with a constant, the default of `pad`.
bool PadsWithConstant(const Node& node);

/// Emits what the operator launches before `kernel`, its own: statistics of a
/// batch, the fill of a padding, the copy of a bias; `kernel` does the rest.
void ExpandBefore(Expansion& expansion, const ExpandedNode& expanded,
                  Kernel& kernel);

bool IsBiasedConvolution(const Node& node);

/// Emits the addition of a bias that `product`, the operator's own kernel,
/// leaves out; nothing for an operator without one.
void ExpandBias(Expansion& expansion, const ExpandedNode& expanded,
                const Kernel& product);

/// Emits the norm that the exporter folded into `convolution`.
void ExpandFoldedNorm(Expansion& expansion, const Kernel& convolution);

/// True for a product of a runtime other than eager that does further operators
/// to its result: its calls, none of which is a product.
bool HasEpilogue(const OperatorGraph& graph, const Node& node);

/// Emits the one kernel of a node that another runtime made of several
/// operators, and a product with its epilogue. False, and nothing done, for
/// every other operator.
bool ExpandFused(Expansion& expansion, const ExpandedNode& expanded);

/// Emits the kernels of a loss that is computed element by element and then
/// reduced. False, and nothing done, for every other operator.
bool ExpandLoss(Expansion& expansion, const ExpandedNode& expanded);

/// Emits the fills, copies and products of a convolution image by image;
/// without `adds_bias` its bias is left out. Requires RunsUnfolded.
void ExpandUnfolded(Expansion& expansion, const ExpandedNode& expanded,
                    bool adds_bias);

/// The same for the gradients that the node is asked for. Requires
/// RunsUnfolded.
void ExpandUnfoldedGradients(Expansion& expansion,
                             const ExpandedNode& expanded);

}  // namespace foretell::cost
