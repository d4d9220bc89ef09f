#include "src/runtime/compile/decompose_attention.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "src/graph/attributes.h"
#include "src/graph/strides.h"
#include "src/runtime/compile/products.h"

// No fused kernel takes a mask whose keys do not lie side by side
// (check_last_dim_stride_equals_1 of ATen/native/transformers/sdp_utils_cpp.h),
// and PyTorch computes _scaled_dot_product_attention_math instead
// (ATen/native/transformers/attention.cpp). A trace has that written out but
// for masks of one element for all keys, which only an export and torch.compile
// see (src/program/meta/attention.cc). Forward:
//
//   P = softmax(q k^T + mask), O = dropout(P) v
//
// with q and k scaled by the root of the scale, since 2.5 all in f32. Backward,
// with the gradient G of O:
//
//   dv = dropout(P)^T G,  dP = dropout(G v^T),  dS = P (dP - sum(P dP)),
//   dq = dS k,  dk = dS^T q

namespace foretell::runtime {
namespace {

constexpr std::size_t kQuery = 0, kKey = 1, kValue = 2, kMask = 3;
/// Operands of a backward operator of attention.
constexpr std::size_t kGradient = 0, kResult = 4;
constexpr std::size_t kRank = 4;

bool HasRepeatedMask(const PrimitiveEmitter& emitter, const Node& node) {
  if (node.target != "scaled_dot_product_attention" ||
      node.inputs.size() <= kMask) {
    return false;
  }
  const OperatorGraph& graph = emitter.graph();
  const Shape& query = graph.value(node.inputs[kQuery]).type.shape;
  const Shape& key = graph.value(node.inputs[kKey]).type.shape;
  const Value& mask = graph.value(node.inputs[kMask]);
  return query.size() == kRank && key.size() == kRank && query[1] == key[1] &&
         !mask.type.shape.empty() && mask.type.shape.back() > 1 &&
         StridesOf(mask).back() == 0;
}

}  // namespace

bool AttentionDecomposer::Add(const Node& node) {
  if (HasRepeatedMask(emitter_, node)) {
    AddForward(node);
    return true;
  }
  if (node.kind != OpKind::kAttentionBackward ||
      node.inputs.size() <= kResult || node.outputs.size() < kMask) {
    return false;
  }
  const auto kept = kept_.find(StorageOf(node.inputs[kResult]));
  if (kept == kept_.end()) return false;
  AddBackward(node, kept->second);
  return true;
}

StorageId AttentionDecomposer::StorageOf(ValueId id) const {
  return emitter_.graph().value(id).storage;
}

void AttentionDecomposer::AddForward(const Node& node) {
  Kept kept = {.query = Operand(node.inputs[kQuery], true),
               .key = Operand(node.inputs[kKey], true),
               .value = Operand(node.inputs[kValue], false),
               .probabilities = kNone,
               .dropped = kNone};
  const ValueId scores = Product(kept.query, kept.key, false, true);
  kept.probabilities = kept.dropped = Softmax(AddMask(scores, node));
  if (NumberOf(node, "dropout_p", 0) > 0) {
    TensorType type = emitter_.TypeOf(kept.dropped);
    type.dtype = DType::kF32;
    const ValueId random = emitter_.Emit("rand", {}, type);
    type.dtype = DType::kBool;
    kept.mask = emitter_.Emit("gt", {random}, type);
    kept.dropped = Pointwise("mul", {kept.probabilities, kept.mask});
  }
  const ValueId result = node.outputs.front();
  Result(result, "to", Product(kept.dropped, kept.value, false, false));
  kept_.emplace(StorageOf(result), kept);
}

void AttentionDecomposer::AddBackward(const Node& node, const Kept& kept) {
  const ValueId gradient = Operand(node.inputs[kGradient], false);
  const ValueId value = Product(kept.dropped, gradient, true, false);
  ValueId scores = Product(gradient, kept.value, false, true);
  if (kept.mask != kNone) scores = Pointwise("mul", {scores, kept.mask});
  scores = Pointwise("mul", {scores, kept.probabilities});
  TensorType row = emitter_.TypeOf(scores);
  row.shape.back() = 1;
  const ValueId sum = emitter_.Emit("sum", {scores}, row,
                                    {{"dim", Shape{2}}, {"keepdim", true}});
  const ValueId shared = Pointwise("mul", {kept.probabilities, sum});
  scores = Pointwise("sub", {scores, shared});
  Result(node.outputs[kQuery], "mul", Product(scores, kept.key, false, false));
  Result(node.outputs[kKey], "mul", Product(scores, kept.query, true, false));
  Result(node.outputs[kValue], "to", value);
}

/// A matrix for every head, scaled or not.
ValueId AttentionDecomposer::Operand(ValueId id, bool scales) {
  TensorType type = emitter_.graph().value(id).type;
  const bool casts = casts_ && IsHalf(type.dtype);
  if (casts) type.dtype = DType::kF32;
  const ValueId made = emitter_.Emit(scales  ? "mul"
                                     : casts ? "to"
                                             : "clone",
                                     {emitter_.Now(id)}, type);
  const Shape& shape = type.shape;
  return emitter_.View(made,
                       {type.dtype, {shape[0] * shape[1], shape[2], shape[3]}});
}

ValueId AttentionDecomposer::Turned(ValueId id) {
  const TensorType& type = emitter_.TypeOf(id);
  return emitter_.View(
      id, {type.dtype, {type.shape[0], type.shape[2], type.shape[1]}});
}

ValueId AttentionDecomposer::Product(ValueId a, ValueId b, bool a_turned,
                                     bool b_turned) {
  if (a_turned) a = Turned(a);
  if (b_turned) b = Turned(b);
  const TensorType& left = emitter_.TypeOf(a);
  const TensorType type = {
      left.dtype,
      {left.shape[0], left.shape[1], emitter_.TypeOf(b).shape.back()}};
  return EmitProduct(emitter_, "bmm", {a, b}, type);
}

/// Of the shape of the first operand.
ValueId AttentionDecomposer::Pointwise(std::string target,
                                       std::vector<ValueId> inputs) {
  const TensorType type = emitter_.TypeOf(inputs.front());
  return emitter_.Emit(std::move(target), std::move(inputs), type);
}

ValueId AttentionDecomposer::AddMask(ValueId scores, const Node& node) {
  return Pointwise("add", {scores, emitter_.Now(node.inputs[kMask])});
}

ValueId AttentionDecomposer::Softmax(ValueId scores) {
  TensorType row = emitter_.TypeOf(scores);
  row.shape.back() = 1;
  const Attributes along = {{"dim", Shape{2}}, {"keepdim", true}};
  const ValueId most = emitter_.Emit("amax", {scores}, row, along);
  const ValueId powers = Pointwise("exp", {Pointwise("sub", {scores, most})});
  const ValueId sum = emitter_.Emit("sum", {powers}, row, along);
  return Pointwise("div", {powers, sum});
}

/// `old` is `target` of `made`, head by head.
void AttentionDecomposer::Result(ValueId old, std::string target,
                                 ValueId made) {
  const TensorType type = emitter_.graph().value(old).type;
  const ValueId heads =
      emitter_.View(made, {emitter_.TypeOf(made).dtype, type.shape});
  emitter_.Set(old, emitter_.Emit(std::move(target), {heads}, type));
}

}  // namespace foretell::runtime
