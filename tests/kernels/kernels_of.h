#pragma once

#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "src/kernels/kernels.h"
#include "tests/graph/in_channels_last.h"

namespace foretell::cost {

/// Kernels of a graph in text form without its header, which is `info`. In a
/// channels-last run all tensors of four dimensions are in that format.
inline std::vector<Kernel> KernelsOf(const std::string& body,
                                     const Run& mode = {},
                                     const std::string& info = "") {
  const std::string text = "graph \"g\" " + info + "\n" + body;
  return ExpandKernels(
      ParseGraph(mode.channels_last ? InChannelsLast(text) : text), mode);
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
