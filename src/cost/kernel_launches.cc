#include "src/cost/kernel_launches.h"

#include <cstddef>
#include <utility>

namespace foretell::cost {
namespace {

/// Walks over the launches of a node in their order.
class LaunchWalk {
 public:
  LaunchWalk(std::span<const Kernel> kernels, std::span<const double> gpu_us,
             double first_us, const KernelDispatch& further)
      : kernels_(kernels),
        gpu_us_(gpu_us),
        further_(further),
        queued_us_(first_us - further.other_us) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      left_us_ += Real(kernels[i].count) * gpu_us[i];
    }
  }

  std::vector<KernelLaunch> Walk() {
    for (std::size_t begin = 0; begin < kernels_.size();) {
      std::size_t end = begin + 1;
      const std::int64_t rounds = kernels_[begin].count;
      while (end < kernels_.size() && kernels_[end].count == rounds) ++end;
      Round(begin, end, further_.other_us);
      if (rounds > 1) Round(begin, end, further_.repeat_us);
      Skip(begin, end, rounds - 3);
      if (rounds > 2) Round(begin, end, further_.repeat_us);
      begin = end;
    }
    return std::move(launches_);
  }

 private:
  /// One launch of each kernel from `begin` to `end`.
  void Round(std::size_t begin, std::size_t end, double dispatch_us) {
    for (std::size_t i = begin; i < end; ++i) {
      queued_us_ += dispatch_us;
      launches_.push_back({queued_us_, left_us_});
      left_us_ -= gpu_us_[i];
    }
  }

  void Skip(std::size_t begin, std::size_t end, std::int64_t rounds) {
    if (rounds <= 0) return;
    for (std::size_t i = begin; i < end; ++i) {
      queued_us_ += Real(rounds) * further_.repeat_us;
      left_us_ -= Real(rounds) * gpu_us_[i];
    }
  }

  std::span<const Kernel> kernels_;
  std::span<const double> gpu_us_;
  const KernelDispatch& further_;
  double queued_us_;
  double left_us_ = 0;
  std::vector<KernelLaunch> launches_;
};

}  // namespace

double KernelDispatch::Us(std::span<const Kernel> kernels) const {
  double us = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    us += (i > 0 ? other_us : 0) + Real(kernels[i].count - 1) * repeat_us;
  }
  return us;
}

std::vector<KernelLaunch> LaunchesOf(std::span<const Kernel> kernels,
                                     std::span<const double> gpu_us,
                                     double first_us,
                                     const KernelDispatch& further) {
  const bool is_single =
      kernels.empty() || (kernels.size() == 1 && kernels.front().count == 1);
  if (is_single) return {};
  return LaunchWalk(kernels, gpu_us, first_us, further).Walk();
}

}  // namespace foretell::cost
