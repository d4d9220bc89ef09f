#pragma once

#include <CLI/CLI.hpp>

#include "training/samples/sample_request.h"

namespace foretell::cli {

/// Adds flags that say which labels are learned from, or judged by; they set
/// `request`, which must outlive the command.
void AddLabelFlags(CLI::App& command, training::SampleRequest& request);

/// Adds flags that say what is learned of them and what the network sees, which
/// a checkpoint would otherwise decide.
void AddInputFlags(CLI::App& command, training::SampleRequest& request);

}  // namespace foretell::cli
