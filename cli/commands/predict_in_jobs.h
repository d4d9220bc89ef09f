#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/commands/exit_code.h"
#include "src/judge/report.h"

namespace foretell::cli {

/// Result of `predict` for some models.
struct Predictions {
  std::vector<Report> reports;
  std::vector<ReportError> errors;
};

enum class JobsOutput { kJson, kCsv };

/// Calls `predict` for each of `models` in one of `jobs` processes and prints
/// what it returns on stdout, in the order of `models`, as one process would;
/// errors go to stderr too. A model whose process dies yields an error; the
/// others go on. Requires a process without other threads, and `predict` to
/// print nothing.
ExitCode PredictInJobs(
    std::span<const std::string> models, int jobs, JobsOutput output,
    const std::function<Predictions(const std::string& model)>& predict);

}  // namespace foretell::cli
