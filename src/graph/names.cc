#include "foretell/graph.h"
#include "src/core/name_table.h"

namespace foretell {
namespace {

constexpr NameTable<kNumTensorRoles> kRoleNames = {
    "input",
    "parameter",
    "buffer",
    "activation",
    "saved",
    "gradient",
    "backward_temporary",
    "optimizer_state",
    "optimizer_temporary",
};
constexpr NameTable<3> kPhaseNames = {"forward", "backward", "optimizer"};
constexpr NameTable<2> kModeNames = {"inference", "training"};
constexpr NameTable<4> kPrecisionNames = {"fp32", "tf32", "fp16", "bf16"};

}  // namespace

std::string_view TensorRoleName(TensorRole role) {
  return NameIn(kRoleNames, role);
}

std::optional<TensorRole> ParseTensorRole(std::string_view name) {
  return FindIn<TensorRole>(kRoleNames, name);
}

std::string_view PhaseName(Phase phase) { return NameIn(kPhaseNames, phase); }

std::optional<Phase> ParsePhase(std::string_view name) {
  return FindIn<Phase>(kPhaseNames, name);
}

std::string_view ModeName(Mode mode) { return NameIn(kModeNames, mode); }

std::optional<Mode> ParseMode(std::string_view name) {
  return FindIn<Mode>(kModeNames, name);
}

std::string_view PrecisionName(Precision precision) {
  return NameIn(kPrecisionNames, precision);
}

std::optional<Precision> ParsePrecision(std::string_view name) {
  return FindIn<Precision>(kPrecisionNames, name);
}

}  // namespace foretell
