#pragma once

#include <cstdint>
#include <vector>

#include "foretell/graph.h"

namespace foretell::runtime {

/// JointNode::distance of what the backward pass does not need.
inline constexpr int kFar = 1'000'000'000;

/// What the partition may do with a tensor of the joint graph.
struct JointTraits {
  bool is_fusible = false;       ///< Inductor computes it in a loop.
  bool is_recomputable = false;  ///< May be computed again.
  bool is_view = false;
  bool is_random = false;
  bool is_product = false;  ///< Convolution, matrix product, attention.
  bool is_concat = false;   ///< Operands are written into it.
};

/// What torch.utils.checkpoint has asked for (CheckpointPolicy).
enum class KeepPolicy : std::uint8_t { kEither, kKeep, kRecompute };

/// A tensor of the joint graph, or an operator of several results, of which
/// each is then a tensor that it alone makes.
struct JointNode {
  /// Of the step; kNone: a source, or a gradient that another region made.
  NodeId node = kNone;
  ValueId value = kNone;  ///< kNone: several results.
  std::int64_t bytes = 0;
  std::int64_t macs = 0;
  JointTraits traits = {};
  std::vector<std::int32_t> inputs = {};  ///< Places in the joint graph.
  std::vector<std::int32_t> users = {};

  bool is_item = false;  ///< One of the several results of its operator.
  bool is_source = false;
  bool is_static = false;    ///< Parameter or buffer: kept anyway.
  bool is_result = false;    ///< Must exist after the backward pass.
  bool in_forward = false;   ///< A result of the forward pass needs it.
  bool in_backward = false;  ///< Depends on the gradient of the loss.
  KeepPolicy policy = KeepPolicy::kEither;
  int forward_order = -1;
  int distance = 0;  ///< Users on the way to the backward pass.
};

/// Forward and backward pass of a step without its optimizer, in their order,
/// as torch.fx has them in AOTAutograd.
struct JointGraph {
  std::vector<JointNode> nodes;
  /// By value of the step; or kNone. Values that are computed twice have the
  /// place of the first.
  std::vector<std::int32_t> place_of;
};

/// The joint graph of a step of primitives (Decompose), without the operators
/// that nothing reads.
JointGraph MakeJointGraph(const OperatorGraph& graph);

/// Whether the backward pass of `graph`, a region, begins with gradients that
/// another region made.
bool BeginsWithGradients(const OperatorGraph& graph);

}  // namespace foretell::runtime
