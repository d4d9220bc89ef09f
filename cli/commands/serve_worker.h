#pragma once

#include <span>

#include "cli/commands/command_table.h"

namespace foretell::cli {

/// Answers jobs from the descriptor kWorkerDescriptor until its other end is
/// closed; each job is a command line of `commands`.
void AnswerJobs(std::span<const CommandRow> commands);

}  // namespace foretell::cli
