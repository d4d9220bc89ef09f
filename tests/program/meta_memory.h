#pragma once

#include <cstdint>

namespace foretell::meta_test {

/// Bytes of all meta storages alive. The first call starts the count; storages
/// from before it do not enter.
std::int64_t LiveMetaBytes();

/// The same for the CPU: bytes as asked for, without the allocator's rounding.
std::int64_t LiveCpuBytes();

}  // namespace foretell::meta_test
