#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/graph.h"

namespace foretell {

/// Attributes of the nodes of OpKind::kCollective.
inline constexpr std::string_view kPlanAttribute = "plan";
inline constexpr std::string_view kGpusAttribute = "gpus";
/// GPUs of the plan if they are more than those of the exchange.
inline constexpr std::string_view kPlanGpusAttribute = "plan_gpus";
inline constexpr std::string_view kBytesAttribute = "bytes";

/// The other GPU of a kSend or kReceive, from 0, and a number that a send and
/// its receive share.
inline constexpr std::string_view kPeerAttribute = "peer";
inline constexpr std::string_view kTagAttribute = "tag";

/// Attribute of linear layers in a graph of tensor parallelism: how they are
/// shared, by features out, by features in or not.
inline constexpr std::string_view kShareAttribute = "shared";
inline constexpr std::string_view kColumnsShare = "columns";
inline constexpr std::string_view kRowsShare = "rows";
inline constexpr std::string_view kWholeShare = "whole";

/// Attribute of copies in such a graph: the operand is the whole tensor, the
/// result the part of one GPU. Its value names the plan.
inline constexpr std::string_view kOwnPartAttribute = "own_part";

/// Attribute of a node whose results are allocated on another stream than the
/// one that computes: FSDP's, which convert, gather or scatter.
inline constexpr std::string_view kStreamAttribute = "stream";
inline constexpr std::string_view kConvertStream = "convert";
inline constexpr std::string_view kGatherStream = "gather";
inline constexpr std::string_view kScatterStream = "scatter";

/// Operators of OpKind::kCollective.
inline constexpr std::string_view kAllReduce = "c10d::allreduce_";
inline constexpr std::string_view kAllGather = "c10d::_allgather_base_";
inline constexpr std::string_view kReduceScatter =
    "c10d::_reduce_scatter_base_";
inline constexpr std::string_view kBroadcast = "c10d::broadcast_";
/// An equal part of the tensor from each GPU to each other.
inline constexpr std::string_view kAllToAll = "c10d::alltoall_base_";
/// All of each GPU's tensor to the next GPU: permute_tensor of the functional
/// collectives.
inline constexpr std::string_view kRotate = "c10d::permute_tensor";
/// From one GPU to one other; they have kPeerAttribute and kTagAttribute.
inline constexpr std::string_view kSend = "c10d::send";
inline constexpr std::string_view kReceive = "c10d::recv_";

/// Operators of OpKind::kCollective between the GPU and its host: a tensor goes
/// to the host, comes back, is updated there by an optimizer and copied back.
inline constexpr std::string_view kToHost = "offload::to_host";
inline constexpr std::string_view kFromHost = "offload::from_host";
inline constexpr std::string_view kStepOnHost = "offload::step";
/// An operator that the host runs on tensors of its own.
inline constexpr std::string_view kRunOnHost = "offload::run";

/// States per element that kStepOnHost updates.
inline constexpr std::string_view kStatesAttribute = "states";
/// Name of the operator of kRunOnHost.
inline constexpr std::string_view kOperatorAttribute = "operator";

/// True for these operators.
bool IsOfHost(const Node& node);

/// An exchange between GPUs. The node starts once its inputs are computed, and
/// readers of its results wait for it.
struct Collective {
  std::string_view target;  ///< One of those above.
  std::string_view plan;    ///< ToString of the ParallelSpec.
  std::int64_t gpus = 0;
  std::int64_t plan_gpus = 0;  ///< More than `gpus` in a group of HSDP.
  /// Bytes of the whole tensor that is gathered, reduced, scattered or sent.
  std::int64_t bytes = 0;
};

/// GPUs that exchange tensors by one plan.
struct CollectiveGroup {
  std::string plan;       ///< As Collective.
  std::int64_t gpus = 0;  ///< Collective::plan_gpus.
};

/// Every plan of the graph's exchanges once; empty for one GPU. The first is
/// that by which GPUs share a batch, if there are two.
std::vector<CollectiveGroup> GroupsOf(const OperatorGraph& graph);
/// GPUs of all groups together. Those that share sequences or experts are some
/// of those that share gradients.
std::int64_t GpusOf(const std::vector<CollectiveGroup>& groups);
/// Batches of all groups together: as many as GPUs unless some share one.
std::int64_t BatchesOf(const std::vector<CollectiveGroup>& groups);

/// Linear layers of the forward pass, by kShareAttribute.
struct SharedLayerCounts {
  std::int64_t columns = 0;
  std::int64_t rows = 0;
  std::int64_t whole = 0;
};

/// Empty for a graph that does not share layers.
std::optional<SharedLayerCounts> CountSharedLayers(const OperatorGraph& graph);

/// Empty for a node of another kind, or IsOfHost. It refers to `node`.
std::optional<Collective> CollectiveOf(const Node& node);

}  // namespace foretell
