#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "frontends/onnx/node_context.h"

/// One step of a recurrent layer, for variants without an ATen operator.
namespace foretell::onnx {

enum class RecurrentCellKind : std::uint8_t { kRnn, kGru, kLstm };

/// Gates of a cell: blocks of rows in its weights.
std::int64_t NumGates(RecurrentCellKind kind);

using RecurrentActivation = std::function<at::Tensor(const at::Tensor&)>;

/// Data shared by all steps of one direction. H is the hidden size, G the
/// number of gates, in ONNX's order: LSTM iofc, GRU zrh.
struct RecurrentCell {
  RecurrentCellKind kind = RecurrentCellKind::kRnn;
  at::Tensor input_weight;      ///< [G · H, input size].
  at::Tensor recurrent_weight;  ///< [G · H, H].
  at::Tensor input_bias;        ///< [G · H] or undefined.
  at::Tensor recurrent_bias;    ///< [G · H] or undefined.
  at::Tensor peepholes;         ///< [3 · H], LSTM only, or undefined.
  std::vector<RecurrentActivation> activations;
  double clip = 0;  ///< Bound on the activations' inputs; 0 for none.
  bool couples_input_and_forget = false;
  bool linear_before_reset = false;
};

struct RecurrentState {
  at::Tensor hidden;  ///< [batch, H].
  at::Tensor cell;    ///< [batch, H], LSTM only.
};

/// State after a step. `projected` [batch, G · H] is the step's input times
/// input_weight plus input_bias.
RecurrentState Step(const RecurrentCell& cell, const at::Tensor& projected,
                    const RecurrentState& state);

/// Activations of one direction at a time, each with its share of alpha and
/// beta. Fails (kUnsupported) for unknown names.
class ActivationReader {
 public:
  /// `defaults` are the names used when the node gives none, for one direction.
  ActivationReader(const NodeContext& ctx, std::vector<std::string> defaults,
                   std::int64_t num_directions);

  /// True when every direction uses the default names without parameters.
  bool IsDefault() const { return is_default_; }
  /// Names for all directions.
  const std::vector<std::string>& names() const { return names_; }
  /// Activations of the next direction.
  std::vector<RecurrentActivation> Next();

 private:
  RecurrentActivation Make(const std::string& name);

  const NodeContext& ctx_;
  size_t per_direction_;
  std::vector<std::string> names_;
  std::vector<double> alphas_, betas_;
  size_t next_name_ = 0, next_alpha_ = 0, next_beta_ = 0;
  bool is_default_ = true;
};

}  // namespace foretell::onnx
