#pragma once

#include <filesystem>
#include <string>

namespace foretell::device {

/// Folder in which the NVIDIA driver describes its GPUs, one subfolder each.
inline constexpr char kDriverGpus[] = "/proc/driver/nvidia/gpus";

/// The model of the first GPU of this machine as the driver names it, such as
/// "NVIDIA A100-SXM4-40GB": the line "Model:" of `information` in the first
/// folder by name. Empty if there is no driver or nothing can be read.
std::string LocalGpuModel(const std::filesystem::path& gpus = kDriverGpus);

}  // namespace foretell::device
