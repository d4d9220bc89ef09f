#include "src/measure/cuda_libtorch.h"

#include <dlfcn.h>

namespace foretell::measure {

std::string LoadCudaLibTorch() {
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr) return "";
  const char* const reason = dlerror();
  return reason != nullptr ? reason : "unknown";
}

}  // namespace foretell::measure
