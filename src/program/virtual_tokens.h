#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "foretell/graph.h"
#include "foretell/lora.h"
#include "foretell/program.h"

namespace foretell {

/// Heads and their width of the keys of one attention.
struct KeyHeads {
  std::int64_t heads = 0;
  std::int64_t width = 0;
};

/// Where virtual tokens enter a network.
struct PromptPlaces {
  std::int64_t width = 0;            ///< Of the first embedding's rows.
  std::vector<std::int64_t> words;   ///< Sizes of what that looks up.
  std::vector<KeyHeads> attentions;  ///< In the order of their calls.
};

/// The places in the network whose forward pass, without gradients, `graph` is.
/// Throws Error(kInvalidArgument) if it does not begin with an embedding of
/// [batch, tokens], or, for prefixes, has no scaled_dot_product_attention.
PromptPlaces PromptPlacesOf(const OperatorGraph& graph, const LoraSpec& spec);

/// The inputs with room for virtual tokens: all whose first two sizes are those
/// of PromptPlaces::words are longer by spec.tokens. Prefixes need none.
std::vector<BoundInput> WithVirtualTokens(std::vector<BoundInput> inputs,
                                          const PromptPlaces& places,
                                          const LoraSpec& spec);

/// Trained virtual tokens of a network, on this thread while it lives, as
/// PeftModelForCausalLM.forward and get_prompt of peft 0.21 run them: tokens
/// next to the words' embeddings (prompt tuning, p-tuning), or keys and values
/// in front of those of every attention, which the cache of the pass keeps, and
/// a mask (prefix tuning).
class VirtualTokens {
 public:
  /// Freezes the instance's parameters, unless `keeps_trained`.
  VirtualTokens(const LoraSpec& spec, PromptPlaces places,
                const ProgramInstance& instance, bool keeps_trained);
  ~VirtualTokens();
  VirtualTokens(const VirtualTokens&) = delete;
  VirtualTokens& operator=(const VirtualTokens&) = delete;

  /// What is trained, by the names of PEFT's prompt encoders.
  const std::vector<NamedTensor>& parameters() const { return parameters_; }

  /// For callers that see calls first: runs an embedding or an attention with
  /// virtual tokens, and returns true.
  static bool Intercept(const c10::OperatorHandle& op,
                        torch::jit::Stack& stack);

  /// Ends a forward pass: what lives as long as its function dies.
  void EndForward();

 private:
  void AddEncoder(std::int64_t width, const at::Tensor& like);
  void AddLinear(const char* name, std::int64_t out, std::int64_t in,
                 const at::Tensor& like);
  /// The encoder's result for every sample, [batch, tokens, width].
  at::Tensor Encode(std::int64_t batch, const at::Tensor& like) const;
  void RunEmbedding(const c10::OperatorHandle& op, torch::jit::Stack& stack);
  void RunAttention(const c10::OperatorHandle& op, torch::jit::Stack& stack);
  /// Gives the attention whose arguments begin at `first` a mask of `keys` keys
  /// if it is causal, and makes a mask that it has longer.
  void ExtendMask(torch::jit::Stack& stack, std::size_t first,
                  std::int64_t keys);
  /// Keys and values of every attention, [batch, heads, tokens, width].
  void MakePrefixes(const at::Tensor& key);

  LoraSpec spec_;
  PromptPlaces places_;
  std::vector<NamedTensor> parameters_;
  const c10::StorageImpl* words_ = nullptr;  ///< The first embedding's.
  std::vector<at::Tensor> prefixes_;         ///< Keys, values, keys …
  std::size_t attention_ = 0;                ///< That is called next.
  at::Tensor mask_;                          ///< Of all causal attentions.
  std::vector<at::Tensor> held_;             ///< Until the pass ends.
};

}  // namespace foretell
