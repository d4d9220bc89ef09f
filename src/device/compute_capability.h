#pragma once

namespace foretell::device {

/// Compute capabilities (major x 10 + minor) of GPU generations:
/// DeviceSpec::compute_capability, as CUDA's programming guide lists them. @{
inline constexpr int kPascalGeForce = 61;
inline constexpr int kTuring = 75;
inline constexpr int kAmpereData = 80;  ///< A100, A30; the first with TF32.
inline constexpr int kAda = 89;         ///< The first with floats of 8 bits.
inline constexpr int kHopper = 90;
inline constexpr int kBlackwellData = 100;  ///< The first with MX formats.
inline constexpr int kGeForceBlackwell = 120;
/// @}

}  // namespace foretell::device
