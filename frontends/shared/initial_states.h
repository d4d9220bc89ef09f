#pragma once

#include <string_view>

namespace foretell {

/// Recurrent layers of torch.nn make states of zeros of the type of their
/// input, and a file keeps the type that it had when it was made. LibTorch
/// names the states of every recurrent operator so, and the type of what
/// zeros() makes so.
/// @{
inline constexpr std::string_view kStates = "hx";
inline constexpr std::string_view kStateMaker = "aten::zeros";
inline constexpr std::string_view kMadeType = "dtype";
/// @}

}  // namespace foretell
