#pragma once

#include <array>
#include <string_view>

namespace foretell::learned {

/// Two small steps in text form, of which a checkpoint keeps the terms
/// (term_probe.h): inference under autocast with every frequent kind of kernel,
/// and a training step. Whoever edits them has to train every network over
/// terms again.
extern const std::array<std::string_view, 2> kProbeGraphs;

}  // namespace foretell::learned
