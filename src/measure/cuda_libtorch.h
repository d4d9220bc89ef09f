#pragma once

#include <string>

namespace foretell::measure {

/// Loads LibTorch's CUDA half, libtorch_cuda.so, into this process, unless it
/// is there already; empty, or the loader's reason why it is not. A linker that
/// drops libraries without a used symbol drops this one, whose work is to
/// register itself.
///
/// Requires: LibTorch has not been asked for CUDA yet in this process, as it
/// remembers the answer.
std::string LoadCudaLibTorch();

}  // namespace foretell::measure
