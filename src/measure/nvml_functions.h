#pragma once

#include <cstdint>

namespace foretell::measure {

// The part of NVML's C interface that foretell calls, written down from its
// reference manual, so that no header of the CUDA toolkit is needed.

using NvmlReturn = int;  ///< 0: success.
inline constexpr NvmlReturn kNvmlSuccess = 0;
inline constexpr unsigned kNvmlClockSm = 1;
inline constexpr unsigned kNvmlClockMemory = 2;
inline constexpr unsigned kNvmlTemperatureGpu = 0;

/// nvmlMemory_t, bytes.
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// nvmlProcessInfo_t since version 2 of the query.
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_bytes;  ///< All ones: not available.
  unsigned gpu_instance;
  unsigned compute_instance;
};

/// Functions of the library; nullptr for those that it lacks.
struct NvmlFunctions {
  NvmlReturn (*init)();
  const char* (*error_string)(NvmlReturn);
  NvmlReturn (*driver_version)(char*, unsigned);
  NvmlReturn (*handle_by_uuid)(const char*, void**);
  NvmlReturn (*name)(void*, char*, unsigned);
  NvmlReturn (*is_mig)(void*, unsigned*);
  NvmlReturn (*memory_info)(void*, NvmlMemory*);
  NvmlReturn (*processes)(void*, unsigned*, NvmlProcess*);
  NvmlReturn (*total_energy)(void*, unsigned long long*);
  NvmlReturn (*clock)(void*, unsigned, unsigned*);
  NvmlReturn (*max_clock)(void*, unsigned, unsigned*);
  NvmlReturn (*temperature)(void*, unsigned, unsigned*);
  NvmlReturn (*power_limit)(void*, unsigned*);
  NvmlReturn (*throttle_reasons)(void*, unsigned long long*);
};

}  // namespace foretell::measure
