#pragma once

#include <memory>
#include <string>

#include "src/measure/reading.h"

namespace foretell::measure {

/// A library that is loaded on demand, because a machine without a GPU lacks
/// it. It is never unloaded, which drivers do not support well.
class SharedLibrary {
 public:
  /// The loader's reason if there is no such library.
  static Reading<SharedLibrary> Open(const std::string& path);

  /// The function `name`, or nullptr if this library lacks it. Requires that
  /// `Function` is its type in C.
  template <typename Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(FindAddress(name));
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* FindAddress(const char* name) const;

  void* handle_;
};

}  // namespace foretell::measure
