#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/pass_flags.h"
#include "cli/flags/phase_flags.h"
#include "foretell/device.h"
#include "foretell/error.h"
#include "foretell/frontends.h"
#include "foretell/run.h"
#include "foretell/session.h"
#include "src/judge/report.h"

namespace foretell::cli {

/// Flags that choose which models are run, and which step of them.
struct ModelOptions {
  std::vector<std::string> models;
  std::vector<std::string> inputs;
  std::vector<std::string> dims;
  std::optional<std::int64_t> seq_len;  ///< See TakeLength.
  std::vector<std::string> values;
  std::vector<std::int64_t> batches;
  /// Mode, optimizer and precision have flags here.
  Run run = {.optimizer = Optimizer::kAdamW};
  bool chose_precision = false;  ///< A flag gave it.
  TrainingLoop loop;
  std::string trace = "meta";
  std::string fuse = "exported";
  std::string sandbox = "auto";
  double timeout_s = 60;
  bool convert = false;
  bool no_convert = false;
  /// Suppresses progress, questions and warnings about missing locks.
  bool is_quiet = false;
  PhaseFlags phase;  ///< Appended to `models` once the flags are parsed.
  PassFlags passes;  ///< Join `models` then; for commands that add them.

  /// `models` as they were before TakeLength.
  std::vector<std::string> models_without_length;

  /// Adds the flags to a subcommand; `many` allows several models and batches,
  /// `with_loop` adds those of `loop`.
  void AddTo(CLI::App& command, bool many, bool with_loop = true);
  /// Adds --input.
  void AddInputFlag(CLI::App& command);
  /// Adds --seq-len.
  void AddLengthFlag(CLI::App& command);
  /// Appends its length, or the longest of `passes`, to `dims`, and to the
  /// names of `models` of the zoo. To be called once, after the flags were
  /// parsed.
  void TakeLength();
  /// The same at another length; requires that `seq_len` was given and taken.
  ModelOptions AtLength(std::int64_t length) const;
  /// Adds the flags that do not name models, their inputs or batches.
  void AddTraceFlags(CLI::App& command, bool with_loop = true);
  TraceDevice DeviceOfTrace() const;
  LoadOptions ToLoadOptions() const;
  /// The step for one batch size (empty: as in the file or --input). With
  /// Run::autocast the trace runs under autocast: to BF16 if that is the
  /// precision, else to FP16.
  StepRequest ToStep(std::optional<std::int64_t> batch) const;
  /// Opens the only one of `models`, with its other passes. Errors as
  /// OpenModel.
  Session Open(std::optional<std::int64_t> batch) const;
  /// Warns on stderr which locks of a sandbox this kernel lacks.
  void WarnOfMissingLocks() const;
  /// The request for one batch size (empty: as in the file or --input).
  InputRequest ToRequest(std::optional<std::int64_t> batch) const;
};

/// Flags that choose the device on which the models are run.
struct DeviceFlags {
  std::string device = "a100-sxm4-40gb";  ///< AddTo: this machine's GPU first.
  std::string environment;  ///< Name of a context model; empty: today's.
  std::vector<std::string> device_files;
  std::vector<std::string> environment_files;
  std::optional<double> host_memory_mib;  ///< Of unified memory; unset: 8 GiB.

  void AddTo(CLI::App& command);
  /// The built-in catalogue with the user's files and the host's share of
  /// unified memory.
  DeviceCatalog Catalog() const;
  /// The device that they name. Throws what Catalog and FindDevice throw.
  DeviceSpec Find() const { return Catalog().FindDevice(device); }
};

/// Traces every model at every batch size, in order, and hands each to `use`
/// with its own step traced. A model that fails, here or in `use`, becomes an
/// entry of the result; the others continue. Shows progress on stderr if that
/// is a terminal: runs, or the stages of a single run. `also`: the run of a
/// second trace, of the same inputs, that `use` requests first.
std::vector<ReportError> ForEachStep(const ModelOptions& options,
                                     const std::function<void(Session&)>& use,
                                     const std::optional<Run>& also = {});

/// Print "foretell: error: …", "foretell: warning: …" and "foretell: …" to
/// stderr, each on one line and Printable (printable.h).
void PrintError(const std::string& message);
void PrintWarning(const std::string& message);
void PrintNote(const std::string& message);

}  // namespace foretell::cli
