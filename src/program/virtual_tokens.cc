#include "src/program/virtual_tokens.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/le.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "foretell/error.h"
#include "src/program/layer_adapter.h"
#include "src/program/weighted_operators.h"

namespace foretell {
namespace {

thread_local VirtualTokens* current_tokens = nullptr;
/// While the operator itself, or what is made for it, runs.
thread_local bool runs_tokens = false;

class TokensScope {
 public:
  TokensScope() { runs_tokens = true; }
  ~TokensScope() { runs_tokens = false; }
  TokensScope(const TokensScope&) = delete;
  TokensScope& operator=(const TokensScope&) = delete;
};

/// Numbers of arguments of scaled_dot_product_attention.
enum AttentionArgument : std::size_t {
  kAttentionMask = 3,
  kIsCausal = 5,
  kEnableGqa = 7,
};

bool IsPrefix(const LoraSpec& spec) {
  return spec.method == AdapterMethod::kPrefix;
}

[[noreturn]] void RefuseTokens(const LoraSpec& spec, const char* why) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("--lora {}: {}", ToString(spec), why));
}

/// repeat_kv of transformers: each head `count` times, a copy.
at::Tensor RepeatedHeads(const at::Tensor& x, std::int64_t count) {
  if (count == 1) return x;
  return x.unsqueeze(2)
      .expand({x.size(0), x.size(1), count, x.size(2), x.size(3)})
      .reshape({x.size(0), x.size(1) * count, x.size(2), x.size(3)});
}

}  // namespace

PromptPlaces PromptPlacesOf(const OperatorGraph& graph, const LoraSpec& spec) {
  PromptPlaces places;
  for (const Node& node : graph.nodes()) {
    const auto shape = [&](std::size_t input) {
      return graph.value(node.inputs[input]).type.shape;
    };
    if (node.target == "embedding" && places.words.empty()) {
      places.width = shape(0).back();
      places.words = shape(1);
    }
    if (node.target == "scaled_dot_product_attention") {
      const std::vector<std::int64_t> key = shape(1);
      if (key.size() == 4) places.attentions.push_back({key[1], key[3]});
    }
  }
  if (places.words.size() != 2) {
    RefuseTokens(spec, "the network has no embedding of [batch, tokens]");
  }
  if (IsPrefix(spec) && places.attentions.empty()) {
    RefuseTokens(spec, "the network calls no scaled_dot_product_attention");
  }
  return places;
}

std::vector<BoundInput> WithVirtualTokens(std::vector<BoundInput> inputs,
                                          const PromptPlaces& places,
                                          const LoraSpec& spec) {
  if (IsPrefix(spec)) return inputs;
  for (BoundInput& input : inputs) {
    std::vector<std::int64_t>& shape = input.type.shape;
    if (shape.size() < 2 || !input.values.empty()) continue;
    if (std::equal(places.words.begin(), places.words.end(), shape.begin())) {
      shape[1] += spec.tokens;
    }
  }
  return inputs;
}

VirtualTokens::VirtualTokens(const LoraSpec& spec, PromptPlaces places,
                             const ProgramInstance& instance,
                             bool keeps_trained)
    : spec_(spec), places_(std::move(places)) {
  at::Tensor like;
  for (const NamedTensor& parameter : instance.Parameters()) {
    like = parameter.tensor;
    if (!keeps_trained) like.set_requires_grad(false);
  }
  if (!like.defined()) RefuseTokens(spec, "the network has no parameters");
  std::int64_t width = places_.width;
  if (IsPrefix(spec)) {
    width = 0;
    for (const KeyHeads& one : places_.attentions) {
      width += 2 * one.heads * one.width;
    }
  }
  AddEncoder(width, like);
  current_tokens = this;
}

VirtualTokens::~VirtualTokens() { current_tokens = nullptr; }

void VirtualTokens::AddLinear(const char* name, std::int64_t out,
                              std::int64_t in, const at::Tensor& like) {
  const std::string path = std::string("prompt_encoder.") + name;
  parameters_.push_back(
      {path + ".weight", MakeTrained(spec_, like, {out, in})});
  parameters_.push_back({path + ".bias", MakeTrained(spec_, like, {out})});
}

/// PromptEmbedding, PromptEncoder (MLP) and PrefixEncoder, whose projection has
/// the keys' width.
void VirtualTokens::AddEncoder(std::int64_t width, const at::Tensor& like) {
  const bool projects = IsPrefix(spec_) && spec_.hidden > 0;
  const KeyHeads keys =
      places_.attentions.empty() ? KeyHeads{} : places_.attentions.front();
  const std::int64_t inner = projects ? keys.heads * keys.width : width;
  parameters_.push_back({"prompt_encoder.embedding.weight",
                         MakeTrained(spec_, like, {spec_.tokens, inner})});
  if (projects) {
    AddLinear("transform.0", spec_.hidden, inner, like);
    AddLinear("transform.2", width, spec_.hidden, like);
  } else if (spec_.method == AdapterMethod::kPTuning) {
    const std::int64_t hidden = spec_.hidden > 0 ? spec_.hidden : width;
    AddLinear("mlp_head.0", hidden, width, like);
    AddLinear("mlp_head.2", hidden, hidden, like);
    AddLinear("mlp_head.4", width, hidden, like);
  }
}

at::Tensor VirtualTokens::Encode(std::int64_t batch,
                                 const at::Tensor& like) const {
  const at::Tensor tokens =
      at::empty({batch, spec_.tokens}, like.options().dtype(at::kLong));
  at::Tensor x = at::embedding(parameters_.front().tensor, tokens);
  for (std::size_t i = 1; i + 1 < parameters_.size(); i += 2) {
    x = at::linear(x, parameters_[i].tensor, parameters_[i + 1].tensor);
    if (i + 2 < parameters_.size()) x = IsPrefix(spec_) ? x.tanh() : x.relu();
  }
  return x;
}

bool VirtualTokens::Intercept(const c10::OperatorHandle& op,
                              torch::jit::Stack& stack) {
  if (current_tokens == nullptr || runs_tokens || !at::GradMode::is_enabled()) {
    return false;
  }
  const std::string& name = op.operator_name().name;
  const TokensScope scope;
  if (IsPrefix(current_tokens->spec_)) {
    if (name != "aten::scaled_dot_product_attention") return false;
    current_tokens->RunAttention(op, stack);
    return true;
  }
  if (name != "aten::embedding") return false;
  const std::size_t first = stack.size() - op.schema().arguments().size();
  const c10::StorageImpl* const storage =
      stack[first].toTensor().storage().unsafeGetStorageImpl();
  const c10::StorageImpl*& words = current_tokens->words_;
  if (words == nullptr) words = storage;
  if (words != storage) return false;
  current_tokens->RunEmbedding(op, stack);
  return true;
}

void VirtualTokens::RunEmbedding(const c10::OperatorHandle& op,
                                 torch::jit::Stack& stack) {
  const std::size_t first = stack.size() - op.schema().arguments().size();
  const at::Tensor ids = stack[first + 1].toTensor();
  if (ids.dim() != 2 || ids.size(1) <= spec_.tokens) {
    RefuseTokens(spec_, "the network's sequence has no room for the tokens");
  }
  stack[first + 1] = ids.narrow(1, 0, ids.size(1) - spec_.tokens);
  op.callBoxed(&stack);
  const at::Tensor words = stack.back().toTensor();
  stack.pop_back();
  const at::Tensor prompts =
      InType(Encode(ids.size(0), words), words.scalar_type());
  held_.push_back(prompts);
  stack.emplace_back(at::cat({prompts, words}, 1));
}

void VirtualTokens::MakePrefixes(const at::Tensor& key) {
  const at::Tensor all = InType(Encode(key.size(0), key), key.scalar_type());
  std::int64_t begin = 0;
  for (const KeyHeads& one : places_.attentions) {
    for (int part = 0; part < 2; ++part) {
      const at::Tensor states =
          all.narrow(-1, begin, one.heads * one.width)
              .view({key.size(0), spec_.tokens, one.heads, one.width});
      // DynamicLayer.update joins them to an empty tensor, a copy.
      prefixes_.push_back(states.permute({0, 2, 1, 3}).contiguous());
      begin += one.heads * one.width;
    }
  }
}

void VirtualTokens::ExtendMask(torch::jit::Stack& stack, std::size_t first,
                               std::int64_t keys) {
  c10::IValue& mask = stack[first + kAttentionMask];
  const at::Tensor query = stack[first].toTensor();
  if (mask.isTensor() && mask.toTensor().defined()) {
    const at::Tensor own = mask.toTensor();
    std::vector<std::int64_t> sizes = own.sizes().vec();
    sizes.back() = spec_.tokens;
    mask = at::cat({at::ones(sizes, own.options()), own}, -1);
    return;
  }
  if (!stack[first + kIsCausal].toBool()) return;
  if (!mask_.defined()) {
    const at::TensorOptions numbers = query.options().dtype(at::kLong);
    const at::Tensor last =
        at::arange(spec_.tokens, keys, numbers).unsqueeze(1);
    mask_ = at::le(at::arange(keys, numbers), last)
                .repeat({query.size(0), 1, 1, 1});
  }
  mask = mask_;
  stack[first + kIsCausal] = false;
}

void VirtualTokens::RunAttention(const c10::OperatorHandle& op,
                                 torch::jit::Stack& stack) {
  const std::size_t first = stack.size() - op.schema().arguments().size();
  at::Tensor key = stack[first + 1].toTensor();
  at::Tensor value = stack[first + 2].toTensor();
  if (prefixes_.empty()) MakePrefixes(key);
  const std::size_t own = 2 * attention_;
  attention_ = (attention_ + 1) % places_.attentions.size();
  key = at::cat({std::exchange(prefixes_.at(own), {}), key}, -2);
  value = at::cat({std::exchange(prefixes_.at(own + 1), {}), value}, -2);
  held_.insert(held_.end(), {key, value});
  ExtendMask(stack, first, key.size(-2));
  const bool has_mask = stack[first + kAttentionMask].isTensor();
  if (has_mask && stack[first + kEnableGqa].toBool()) {
    const std::int64_t count = stack[first].toTensor().size(1) / key.size(1);
    key = RepeatedHeads(key, count);
    value = RepeatedHeads(value, count);
    stack[first + kEnableGqa] = false;
  }
  stack[first + 1] = std::move(key);
  stack[first + 2] = std::move(value);
  op.callBoxed(&stack);
}

void VirtualTokens::EndForward() {
  held_.clear();
  prefixes_.clear();
  mask_.reset();
  attention_ = 0;
}

}  // namespace foretell
