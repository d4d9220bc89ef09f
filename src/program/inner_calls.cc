// Calls inside of an operator, down to those with a kernel of their own.
//
// ATen's composites call the dispatcher for each of their parts, so that a hook
// which stays on while one runs sees what PyTorch itself makes of it. A call is
// a leaf where its operator has a kernel for the CPU: CUDA then has one, too.
// The exceptions are the operators that CUDA has a kernel for and the CPU not,
// and those whose CPU kernel is made of others.

#include "src/program/inner_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "foretell/program.h"
#include "src/graph/recurrent_layer.h"
#include "src/program/autocast.h"
#include "src/program/meta/call.h"
#include "src/program/meta/repeat_scope.h"
#include "src/program/operator_call.h"

namespace foretell {
namespace {

/// Operators whose calls are listed: their kernels are those of the calls. Of
/// others that are made of calls the rows of src/cost/kernel_time.cc and the
/// learned predictors know one kernel, or src/kernels writes what CUDA does and
/// meta tensors hide.
constexpr std::string_view kListed[] = {
    "_cudnn_rnn",
    "_cudnn_rnn_backward",
    "_convolution_mode",
    "_euclidean_dist",
    "_native_multi_head_attention",
    "_transformer_encoder_layer_fwd",
    "_trilinear",
    "addbmm",
    "addr",
    "bilinear",
    "binary_cross_entropy_with_logits",
    "block_diag",
    "cdist",
    "chain_matmul",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy_loss",
    "diag",
    "diag_embed",
    "diagflat",
    "dist",
    "einsum",
    "feature_dropout",
    "ger",
    "gru",
    "gru_cell",
    "hinge_embedding_loss",
    "isfinite",
    "isinf",
    "kl_div",
    "kron",
    "l1_loss",
    "linalg_matrix_power",
    "linalg_multi_dot",
    "linalg_vecdot",
    "logsumexp",
    "lstm",
    "lstm_cell",
    "margin_ranking_loss",
    "masked_fill",
    "matrix_power",
    "nll_loss",
    "nll_loss2d",
    "nll_loss_nd",
    "outer",
    "pairwise_distance",
    "poisson_nll_loss",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
    "roll",
    "scaled_dot_product_attention",
    "soft_margin_loss",
    "special_logsumexp",
    "tensordot",
    "triplet_margin_loss",
};

/// Overload of convolutions whose padding is a word.
constexpr std::string_view kPaddingByWord = "padding";

/// Lists of tensors, of which CUDA processes many in one kernel.
constexpr std::string_view kOfLists = "_foreach_";

/// Move nothing on a GPU, or ask the host.
constexpr std::string_view kUnseenTargets[] = {"_local_scalar_dense",
                                               "broadcast_tensors",
                                               "empty",
                                               "empty_like",
                                               "empty_strided",
                                               "is_nonzero",
                                               "is_same_size",
                                               "item",
                                               "lift_fresh",
                                               "new_empty",
                                               "new_empty_strided",
                                               "promote_types",
                                               "resize_",
                                               "resize_as_",
                                               "resolve_conj",
                                               "resolve_neg",
                                               "result_type",
                                               "set_",
                                               "squeeze_"};

/// One kernel on CUDA though the CPU composes them.
constexpr std::string_view kOneKernel[] = {
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention",
    "_thnn_fused_gru_cell",
    "_thnn_fused_lstm_cell",
    "_to_copy",
    "clone",
    "convolution",
    "layer_norm",
    "log_sigmoid",
    "mean",
    "norm",
    "scalar_tensor"};

/// Have a kernel for the CPU that calls others.
constexpr std::string_view kMadeOfOthers[] = {"_native_multi_head_attention",
                                              "_transformer_encoder_layer_fwd",
                                              "addbmm",
                                              "addr",
                                              "binary_cross_entropy",
                                              "flatten",
                                              "l1_loss",
                                              "reshape",
                                              "roll",
                                              "soft_margin_loss"};

template <std::size_t kSize>
bool IsIn(const std::string_view (&names)[kSize], std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

InnerCallKind Classify(const c10::OperatorHandle& op) {
  const std::string target = TargetOf(op);
  if (!MakesTensors(op.schema()) || IsIn(kUnseenTargets, target)) {
    return InnerCallKind::kUnseen;
  }
  if (IsIn(kMadeOfOthers, target)) return InnerCallKind::kOuter;
  const bool is_leaf = IsIn(kOneKernel, target) ||
                       target.starts_with(kOfLists) ||
                       OpKindOf(target) == OpKind::kView ||
                       op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
  return is_leaf ? InnerCallKind::kLeaf : InnerCallKind::kOuter;
}

bool IsListed(const c10::OperatorHandle& op) {
  if (InnerCallKindOf(op) != InnerCallKind::kOuter) return false;
  const std::string target = TargetOf(op);
  const OpKind kind = OpKindOf(target);
  return kind == OpKind::kOther || IsIn(kListed, target) ||
         (kind == OpKind::kConvolution &&
          op.schema().overload_name() == kPaddingByWord);
}

void NoteTimes(InnerCalls::Call& call) {
  if (call_times == 1) return;
  call.spec.attributes.emplace_back(kTimesAttribute, call_times);
}

bool IsOfRecurrentLayer(const c10::OperatorHandle& op) {
  const std::string target = TargetOf(op);
  return IsRecurrentLayer({.target = target, .kind = OpKindOf(target)});
}

/// `find`'s answer for `op`, which is asked for once.
template <typename Answer>
Answer Cached(const c10::OperatorHandle& op,
              Answer (*find)(const c10::OperatorHandle&)) {
  static thread_local std::unordered_map<c10::OperatorName, Answer> answers;
  const auto known = answers.find(op.operator_name());
  if (known != answers.end()) return known->second;
  return answers.emplace(op.operator_name(), find(op)).first->second;
}

}  // namespace

bool ListsCalls(const c10::OperatorHandle& op, c10::DeviceType device) {
  return Cached(op, &IsListed) &&
         (device == c10::DeviceType::Meta || !IsOfRecurrentLayer(op));
}

InnerCallKind InnerCallKindOf(const c10::OperatorHandle& op) {
  return Cached(op, &Classify);
}

void InnerCalls::Append(const at::Tensor& tensor, bool is_new,
                        std::vector<std::size_t>& places) {
  const at::TensorImpl* const address = tensor.unsafeGetTensorImpl();
  if (address->is_wrapped_number() || !HeldAs(tensor.scalar_type())) return;
  const auto found = places_.find(address);
  if (found != places_.end() && !is_new) {
    places.push_back(found->second);
    return;
  }
  Known known = know_(tensor);
  if (known.storage == kNone) return;
  if (is_new) known.value = kNone;
  places_[address] = tensors_.size();
  places.push_back(tensors_.size());
  tensors_.push_back(
      {known, TypeOf(tensor), StridesOf(tensor),
       c10::weak_intrusive_ptr<at::TensorImpl>(tensor.getIntrusivePtr())});
}

InnerCalls::Call InnerCalls::Begin(const c10::OperatorHandle& op,
                                   const torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const std::size_t first = stack.size() - arguments.size();
  Call call{.spec = {.target = TargetOf(op), .inputs = {}}};
  // What a copy is made into is written, not read.
  const std::size_t begin = call.spec.target == "copy_" ? 1 : 0;
  for (std::size_t i = begin; i < arguments.size(); ++i) {
    if (meta::IsOutArgument(arguments[i])) continue;
    ForEachTensor(stack[first + i], [&](const at::Tensor& tensor) {
      Append(tensor, /*is_new=*/false, call.operands);
    });
  }
  call.spec.attributes = ToAttributes(op.schema(), stack, first);
  if (AutocastRegion::IsCasting()) {
    call.spec.attributes.emplace_back(kAutocastAttribute, true);
  }
  NoteTimes(call);
  return call;
}

void InnerCalls::Write(Call call, const std::vector<at::Tensor>& operands,
                       const std::vector<at::Tensor>& results) {
  for (const at::Tensor& operand : operands) {
    Append(operand, /*is_new=*/false, call.operands);
  }
  for (const at::Tensor& result : results) {
    Append(result, /*is_new=*/true, call.results);
  }
  NoteTimes(call);
  calls_.push_back(std::move(call));
}

void InnerCalls::End(Call call, const c10::OperatorHandle& op,
                     const torch::jit::Stack& stack) {
  std::vector<at::Tensor> results;
  for (std::size_t i = stack.size() - op.schema().returns().size();
       i < stack.size(); ++i) {
    ForEachTensor(stack[i],
                  [&](const at::Tensor& tensor) { results.push_back(tensor); });
  }
  const bool returns_operand =
      std::ranges::any_of(results, [&](const at::Tensor& result) {
        const auto known = places_.find(result.unsafeGetTensorImpl());
        return known != places_.end() &&
               std::ranges::count(call.operands, known->second) > 0;
      });
  if (returns_operand && !op.schema().is_mutable()) return;
  for (const at::Tensor& result : results) {
    Append(result, /*is_new=*/true, call.results);
  }
  calls_.push_back(std::move(call));
}

bool InnerCalls::HasKernel() const {
  return std::ranges::any_of(calls_, [](const Call& call) {
    return !call.results.empty() && OpKindOf(call.spec.target) != OpKind::kView;
  });
}

void InnerCalls::AddTo(
    GraphBuilder& builder, NodeId node,
    const std::vector<std::pair<at::Tensor, ValueId>>& results,
    const std::function<std::string(const std::string&)>& name) {
  if (!HasKernel()) return;
  std::vector<ValueId> values(tensors_.size(), kNone);
  for (const auto& [tensor, value] : results) {
    const auto place = places_.find(tensor.unsafeGetTensorImpl());
    const bool is_made =
        place != places_.end() && tensors_[place->second].known.value == kNone;
    if (is_made) values[place->second] = value;
  }
  const auto value_of = [&](std::size_t place) {
    const InnerTensor& tensor = tensors_[place];
    ValueId& value = values[place];
    if (value == kNone) value = tensor.known.value;
    if (value == kNone) {
      value =
          builder.AddInner(node, name(fmt::format("{}/{}", node, place)),
                           tensor.type, tensor.known.storage, tensor.strides);
    }
    return value;
  };
  for (Call& call : calls_) {
    if (call.results.empty()) continue;
    for (const std::size_t place : call.operands) {
      call.spec.inputs.push_back(value_of(place));
    }
    std::vector<ValueId> made;
    made.reserve(call.results.size());
    for (const std::size_t place : call.results) {
      made.push_back(value_of(place));
    }
    builder.AddCall(node, std::move(call.spec), std::move(made));
  }
}

}  // namespace foretell
