#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "foretell/graph.h"

namespace foretell {

/// Whether `argument` of the operator `name` ("aten::dropout") is the flag that
/// puts a layer into training mode. Frontends must not change the flag of a
/// normalisation that has no statistics of its own (IsStatistics): it uses
/// those of the batch in both modes.
bool IsModeFlag(std::string_view name, std::string_view argument);

/// Whether `argument` is a mean or a variance of the batches that a
/// normalisation has seen.
bool IsStatistics(std::string_view argument);

/// Whether `argument` of the operator `name` is a probability of dropout that
/// evaluation sets to zero, as attention's is.
bool IsModeProbability(std::string_view name, std::string_view argument);

/// Switch of layers in a file that was made in the other mode.
enum class ModeChange : std::uint8_t { kStay, kToTraining, kToInference };

/// Constant mode flags of a file.
struct ModeFlags {
  bool some_train = false;
  bool some_do_not = false;

  void Count(bool trains) { (trains ? some_train : some_do_not) = true; }
  /// For a run in `mode`: training switches a file without a layer in training
  /// mode, inference a file with one, as
  /// torchao.quantization.pt2e.move_exported_model_to_train does.
  ModeChange For(Mode mode) const;
};

/// Warning about `change` in a file that was `made` ("exported"), with the
/// advice to `make` ("export") it again; empty for kStay.
std::string ModeWarning(ModeChange change, std::string_view made,
                        std::string_view make);

}  // namespace foretell
