#pragma once

#include <string>

#include "src/host/measured_host.h"

namespace foretell::cli {

/// @name Answers of `foretell host`. `path`: where the host was stored; empty:
/// nowhere
/// @{
std::string FormatHost(const host::MeasuredHost& host,
                       const host::MeasuredHost& reference,
                       const std::string& path);
/// The host's own document, with the time of every operator, in addition to
/// `path` and `reference`.
std::string FormatHostJson(const host::MeasuredHost& host,
                           const host::MeasuredHost& reference,
                           const std::string& path);
/// @}

}  // namespace foretell::cli
