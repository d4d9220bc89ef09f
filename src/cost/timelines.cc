#include "src/cost/timelines.h"

#include <algorithm>

namespace foretell::cost {
namespace {

/// When the last kernel of a node is done that finds the GPU free, after the
/// node's begin.
double AloneUs(const NodeCost& node) {
  if (node.launches.empty()) return node.dispatch_us + node.gpu_us;
  double us = 0;
  for (const KernelLaunch& launch : node.launches) {
    us = std::max(us, launch.queued_us + launch.left_us);
  }
  return us;
}

}  // namespace

void Timelines::Run(const NodeCost& node, double arrives_us) {
  const double begin_us = cpu_us_;
  cpu_us_ += node.dispatch_us;
  double free_us = node.link_us > 0 ? link_us_ : gpu_us_;
  for (const NodeId id : node.waits_for) {
    free_us = std::max(free_us, done_us_[static_cast<std::size_t>(id)]);
  }
  if (arrives_us > 0) {
    done_us_.push_back(std::max(cpu_us_, arrives_us));
    return;
  }
  if (node.link_us > 0) {
    link_us_ = std::max(cpu_us_, free_us) + node.link_us;
    done_us_.push_back(link_us_);
    return;
  }
  if (node.gpu_us > 0 || !node.waits_for.empty()) {
    gpu_us_ = std::max(free_us + node.gpu_us, begin_us + AloneUs(node));
  }
  done_us_.push_back(gpu_us_);
}

double Timelines::EndUs() const {
  return std::max({cpu_us_, gpu_us_, link_us_});
}

}  // namespace foretell::cost
