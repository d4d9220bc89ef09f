#pragma once

#include <array>
#include <string_view>

namespace foretell::learned {

/// Two small steps in text form, of which a checkpoint keeps the terms
/// (term_probe.h): inference under autocast with every frequent kind of kernel,
/// and a training step. After a change of them every network over terms has to
/// be trained again.
extern const std::array<std::string_view, 2> kProbeGraphs;

}  // namespace foretell::learned
