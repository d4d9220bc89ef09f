#include "src/measure/shared_library.h"

#include <dlfcn.h>

namespace foretell::measure {

Reading<SharedLibrary> SharedLibrary::Open(const std::string& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) {
    return Reading<SharedLibrary>::Of(SharedLibrary(handle));
  }
  const char* const reason = dlerror();
  return Reading<SharedLibrary>::Missing(
      reason != nullptr ? reason : path + ": unknown");
}

void* SharedLibrary::FindAddress(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace foretell::measure
