#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "foretell/graph.h"
#include "src/kernels/kernels.h"

namespace foretell {

/// What is looked at first where two kernels differ.
inline std::string LineOf(const cost::Kernel& kernel) {
  std::ostringstream line;
  line << KernelClassName(kernel.kernel_class) << " bytes " << kernel.bytes_in
       << "+" << kernel.bytes_weight << ">" << kernel.bytes_out << " elements "
       << kernel.element_bytes_in << ">" << kernel.element_bytes_out << " macs "
       << kernel.macs << " as " << kernel.batch << "x" << kernel.m << "x"
       << kernel.n << "x" << kernel.k << " in "
       << PrecisionName(kernel.arithmetic) << " inner " << kernel.inner_extent
       << (kernel.channels_last ? " channels last" : "")
       << (kernel.mixed_layouts ? " mixed" : "");
  return line.str();
}

/// Kernels without the nodes that launch them.
inline std::vector<cost::Kernel> KernelsOf(const OperatorGraph& graph,
                                           const Run& mode) {
  std::vector<cost::Kernel> kernels = cost::ExpandKernels(graph, mode);
  for (cost::Kernel& kernel : kernels) kernel.node = kNone;
  return kernels;
}

/// Where the kernels of a trace under autocast are not those that a plain trace
/// of the same network is given in autocast's mode; empty if nowhere.
inline std::string FirstDifference(const OperatorGraph& traced,
                                   const OperatorGraph& plain,
                                   bool channels_last) {
  const std::vector<cost::Kernel> shown =
      KernelsOf(traced, {.channels_last = channels_last});
  const std::vector<cost::Kernel> added =
      KernelsOf(plain, {.autocast = true, .channels_last = channels_last});
  const auto [left, right] = std::ranges::mismatch(shown, added);
  if (left == shown.end() && right == added.end()) return "";
  const auto text = [](const auto& kernels, auto place) {
    return place == kernels.end() ? std::string("none") : LineOf(*place);
  };
  return "kernel " + std::to_string(left - shown.begin()) + ": traced " +
         text(shown, left) + "; added " + text(added, right);
}

}  // namespace foretell
