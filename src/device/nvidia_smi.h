#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace foretell::device {

/// What nvidia-smi states of a GPU; zero or empty if it does not ("N/A").
struct SmiGpu {
  std::string name;          ///< "NVIDIA L40S".
  std::string architecture;  ///< As DeviceSpec's: "ada".
  int compute_capability = 0;
  std::int64_t memory_mib = 0;
  std::int64_t reserved_mib = 0;  ///< Part of it that no process gets.
  double power_w = 0;             ///< Default limit, else the present one.
  bool has_mig = false;           ///< It has a MIG mode, on or off.
};

/// Reads the output of `nvidia-smi -q`, or of `nvidia-smi --query-gpu=…
/// --format=csv` with its line of headers.
///
/// Throws Error(kCorrupt) that names `origin`, the line and the value for a
/// number that does not parse, several models of GPUs or text of another kind.
SmiGpu ReadNvidiaSmi(std::string_view text, std::string_view origin);

}  // namespace foretell::device
