#pragma once

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "foretell/program.h"
#include "foretell/session.h"

namespace foretell::cli {

struct ModelOptions;

/// Stands between networks that one process runs.
inline constexpr char kAnd[] = "+";

/// Flags of a process that runs more than one step in turn: steps of several
/// lengths, an evaluation, or networks with "+" between their names.
struct PassFlags {
  std::string lengths;  ///< See ParseLengths; empty: not given.
  std::optional<std::int64_t> evaluation;  ///< Its batch.
  /// Names of the networks of an entry of ModelOptions::models, "a + b".
  std::map<std::string, std::vector<std::string>> networks;
  /// Lengths of an entry other than its own, and the model's name at each.
  std::map<std::string, std::map<std::int64_t, std::string>> other_lengths;
  bool is_offered = false;  ///< AddTo was called.

  /// Adds --lengths and --evaluate.
  void AddTo(CLI::App& command);
  /// Takes "+" out of `models`, whose entries become "a + b". Throws
  /// Error(kInvalidArgument) if one is not between two names, and unless
  /// `is_offered`.
  void JoinNetworks(std::vector<std::string>& models);
  /// The first network of an entry.
  std::string FirstOf(const std::string& entry) const;
  /// "--lengths 32..512" or "--evaluate 64"; empty for neither.
  std::vector<std::string> Words() const;
};

/// "64,512,384" are these steps in this order, of at most 8 different lengths.
/// "32..512" is 16 steps: 8 lengths, evenly spaced from the first to the last,
/// twice each in a random order that is always the same. Throws
/// Error(kInvalidArgument) that quotes `text`.
std::vector<std::int64_t> ParseLengths(const std::string& text);

/// Opens what runs in turn with the step of an entry of ModelOptions::models.
class PassPlanner {
 public:
  /// `first` is FirstOf the entry. Errors as OpenModel.
  PassPlanner(const ModelOptions& options, const std::string& entry,
              const Program& first);

  /// The session of `step`, and of the other passes, if there are any. Each of
  /// several networks gets the flags of its own inputs and dimensions; the
  /// first one also those that no network has, and refuses them.
  Session Open(const StepRequest& step) const;

 private:
  StepRequest PartOf(std::size_t network, StepRequest step) const;
  PassPlan Networks(const StepRequest& step) const;
  PassPlan Lengths(StepRequest step) const;
  PassPlan Evaluation(StepRequest step) const;

  const PassFlags& flags_;
  std::string entry_;
  std::vector<Program> programs_;  ///< The first network, and other ones.
  std::map<std::int64_t, Program> at_length_;
};

}  // namespace foretell::cli
