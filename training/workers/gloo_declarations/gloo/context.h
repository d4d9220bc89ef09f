#pragma once

#include <chrono>

namespace gloo {

/// Only used through pointers that LibTorch made.
class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
