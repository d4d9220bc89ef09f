#pragma once

#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Kernels of a graph in text form without its header, which is `info`.
inline std::vector<Kernel> KernelsOf(const std::string& body,
                                     const Run& mode = {},
                                     const std::string& info = "") {
  return ExpandKernels(ParseGraph("graph \"g\" " + info + "\n" + body), mode);
}

/// Their class names, in order.
inline std::vector<std::string> ClassesOf(const std::vector<Kernel>& kernels) {
  std::vector<std::string> names;
  for (const Kernel& kernel : kernels) {
    names.emplace_back(KernelClassName(kernel.kernel_class));
  }
  return names;
}

inline std::vector<std::string> ClassesOf(const std::string& body,
                                          const Run& mode = {}) {
  return ClassesOf(KernelsOf(body, mode));
}

}  // namespace foretell::cost
