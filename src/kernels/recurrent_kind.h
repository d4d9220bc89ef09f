#pragma once

#include <cstdint>

namespace foretell::cost {

/// What the kinds of layers differ in.
struct RecurrentKind {
  std::int64_t gates;
  /// Hidden units up to which one kernel runs all steps.
  std::int64_t most_persistent_units;
  /// Values per unit that training keeps of a step.
  std::int64_t reserved;
  const char* cell;           ///< Kernel of the gates.
  const char* cell_gradient;  ///< Its gradient.
  bool has_cell_state;
};

inline constexpr RecurrentKind kLstm = {
    4,   192, 4, "_thnn_fused_lstm_cell", "_thnn_fused_lstm_cell_backward_impl",
    true};
inline constexpr RecurrentKind kGru = {
    3, 192, 5, "_thnn_fused_gru_cell", "_thnn_fused_gru_cell_backward", false};
inline constexpr RecurrentKind kTanh = {1,    384, 0, "tanh", "tanh_backward",
                                        false};
inline constexpr RecurrentKind kRelu = {
    1, 384, 0, "relu", "threshold_backward", false};

}  // namespace foretell::cost
