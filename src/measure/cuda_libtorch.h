#pragma once

#include <string>

namespace foretell::measure {

/// Loads LibTorch's CUDA half, libtorch_cuda.so, into this process, unless it
/// is there already; returns the loader's error, or empty. A linker that drops
/// libraries without a used symbol drops this one, which only registers itself.
///
/// Requires: LibTorch has not been queried for CUDA yet in this process,
/// because it caches the result.
std::string LoadCudaLibTorch();

}  // namespace foretell::measure
