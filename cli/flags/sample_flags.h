#pragma once

#include <CLI/CLI.hpp>

#include "training/samples/sample_request.h"

namespace foretell::cli {

/// Adds flags that choose the labels to learn from, or to judge by; they set
/// `request`, which must outlive the command.
void AddLabelFlags(CLI::App& command, training::SampleRequest& request);

/// Adds flags that choose what is learned from them and what the network sees,
/// which a checkpoint would otherwise decide.
void AddInputFlags(CLI::App& command, training::SampleRequest& request);

}  // namespace foretell::cli
