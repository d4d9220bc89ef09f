#pragma once

#include <string_view>

namespace foretell {

/// Recurrent layers of torch.nn make states of zeros in the type of their
/// input, and a file keeps the type that it had when it was made.

/// Argument of every recurrent operator of LibTorch: its states.
inline constexpr std::string_view kStates = "hx";
/// The operator that makes them.
inline constexpr std::string_view kStateMaker = "aten::zeros";
/// The argument of that with the type of what it makes.
inline constexpr std::string_view kMadeType = "dtype";

}  // namespace foretell
