#include "cli/flags/phase_flags.h"

#include <fmt/core.h>

#include "cli/flags/number_checks.h"
#include "foretell/zoo.h"
#include "src/core/failure.h"

namespace foretell::cli {

void PhaseFlags::AddTo(CLI::App& command) {
  command
      .add_option("--phase", phase,
                  "Pass of a zoo language model: the whole sequence, a prompt "
                  "that fills the cache, or one more token")
      ->check(CLI::IsMember({"forward", "prefill", "decode"}));
  command
      .add_option("--cache", cache,
                  "Tokens in the cache: before the step for decode, capacity "
                  "for prefill")
      ->check(FromZero());
}

std::string PhaseFlags::Apply(const std::string& model) const {
  std::string changes;
  if (!phase.empty()) changes = "phase=" + phase;
  if (cache) {
    changes += fmt::format("{}cache={}", changes.empty() ? "" : "&", *cache);
  }
  if (changes.empty()) return model;
  if (!zoo::IsNetwork(model)) {
    throw InvalidArgument(
        "{}: --phase and --cache are for language models of the zoo ({}NAME, "
        "config.json)",
        model, zoo::kPrefix);
  }
  const bool has_changes = model.find('?') != std::string::npos;
  return fmt::format("{}{}{}", model, has_changes ? '&' : '?', changes);
}

}  // namespace foretell::cli
