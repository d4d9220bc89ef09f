#pragma once

#include <string>

namespace foretell::host {

/// CPU time of one operator called repeatedly on tiny tensors.
struct ProbeTime {
  std::string probe;    ///< ATen's name: "add".
  std::string kind;     ///< "elementwise", "product", "view", ….
  std::string tensors;  ///< "cpu", or "meta": dispatch without arithmetic.
  bool grad = false;    ///< Autograd recorded it.
  double us = 0;        ///< Of the fastest batch of calls, per call.

  /// True if both are for the same operator called in the same way.
  bool IsOfSameCall(const ProbeTime& other) const {
    return probe == other.probe && tensors == other.tensors &&
           grad == other.grad;
  }
  bool operator==(const ProbeTime&) const = default;
};

}  // namespace foretell::host
