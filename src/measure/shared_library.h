#pragma once

#include <memory>
#include <string>

#include "src/measure/reading.h"

namespace foretell::measure {

/// A library that is looked for when it is needed, because a machine without a
/// GPU has none. Stays loaded: drivers do not like to be unloaded.
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
