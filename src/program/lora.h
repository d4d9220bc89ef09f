#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "foretell/program.h"
#include "foretell/training_loop.h"
#include "src/program/adapted_layer.h"
#include "src/program/quantized_weights.h"

namespace foretell {

/// Adapters on the layers of an instance, on this thread while it lives, as
/// peft.get_peft_model puts them there: on linear layers, embeddings and
/// convolutions without groups, see AdaptedResult. A product with a matrix
/// (`matmul`, `mm`, `addmm`: what an ONNX file has, and GPT-2's Conv1D) is such
/// a layer, with the matrix as it lies or transposed. A matrix that both an
/// embedding and a product read is adapted where it is read first.
class LoraAdapters {
 public:
  /// Makes a pair of adapters for every parameter of two or more dimensions in
  /// whose name `spec.targets` is found, and copies of what `spec.save` names.
  /// Freezes all other parameters, except those that already train if
  /// `keeps_trained`. Throws Error(kInvalidArgument) if an expression is
  /// invalid or found in no name, or the rank is below 1.
  LoraAdapters(const LoraSpec& spec, const ProgramInstance& instance,
               bool keeps_trained);
  ~LoraAdapters();
  LoraAdapters(const LoraAdapters&) = delete;
  LoraAdapters& operator=(const LoraAdapters&) = delete;

  /// What the instance has not: the adapters (MakeLayerAdapters), and the
  /// frozen "head.weight.original" of every parameter whose copy is trained.
  const std::vector<NamedTensor>& parameters() const { return parameters_; }

  /// For callers that see calls first: runs a layer that has an adapter as its
  /// calls with the adapter, and returns true.
  static bool Intercept(const c10::OperatorHandle& op,
                        torch::jit::Stack& stack);

  /// Throws Error(kInvalidArgument) where nothing that ran had an adapter.
  void RequireUse() const;

 private:
  /// Adds the originals of the parameters that `spec.save` names, and trains
  /// these.
  void SaveCopies(const ProgramInstance& instance);
  void TrainBiases(const ProgramInstance& instance) const;
  /// The adapter of a weight or of its transposition in a layer of `kind`; null
  /// without.
  LayerAdapter* Find(const at::Tensor& weight, WeightUse kind);
  /// Whether a layer of `kind` with `weight` is the network's first embedding,
  /// that of the words.
  bool IsFirstEmbedding(const at::Tensor& weight, WeightUse kind);

  LoraSpec spec_;
  std::unordered_map<const c10::StorageImpl*, LayerAdapter> adapters_;
  std::vector<NamedTensor> parameters_;
  const c10::StorageImpl* first_embedding_ = nullptr;
  bool is_used_ = false;
};

/// Gives the instance's parameters of 16 bits 32, as
/// prepare_model_for_kbit_training does with all that is not stored in 8 or
/// 4 bits.
void CastHalfParameters(const ProgramInstance& instance,
                        const QuantizedWeights* quantized);

}  // namespace foretell
