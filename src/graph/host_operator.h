#pragma once

#include <string_view>

namespace foretell {

/// An operator of OpKind::kCollective that the host runs on tensors of its own
/// (IsOfHost), and the attribute that names it.
inline constexpr std::string_view kRunOnHost = "offload::run";
inline constexpr std::string_view kOperatorAttribute = "operator";

}  // namespace foretell
