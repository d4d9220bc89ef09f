#include "src/runtime/compile/peak_order.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "src/graph/index_of.h"

// reorder_for_peak_memory of torch/_inductor/memory.py (PyTorch 2.13), which
// runs after fusion. Three orders are tried beside the given one; of equal
// estimates the first is taken.
//
//   greedy        of the kernels that do not raise the peak so far, the one
//                 after which least is alive (topological_sort_lpmf)
//   breadth first the kernel whose predecessors ran first (..._bfs)
//   depth first   kernels that touch little first, each after those that it
//                 needs (..._dfs)
//
// What a kernel alone reads counts too, though it never reaches memory.

namespace foretell::runtime {
namespace {

std::vector<int> GivenOrder(const PassBuffers& pass) {
  std::vector<int> order(pass.kernels.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

class GreedyOrder {
 public:
  explicit GreedyOrder(const PassBuffers& pass)
      : pass_(pass), frees_(pass.kernels.size(), 0) {
    std::int64_t results = 0;
    for (const Buffer& buffer : pass.buffers) {
      left_.push_back(std::ssize(buffer.readers) + (buffer.is_result ? 1 : 0));
      if (buffer.is_kept) live_ += buffer.bytes;
      if (buffer.is_result) results += buffer.bytes;
    }
    peak_ = std::max(live_, results);
    for (int i = 0; i < std::ssize(pass.kernels); ++i) CountFrees(i);
  }

  std::vector<int> Run() {
    std::vector<std::size_t> waits;
    for (int i = 0; i < std::ssize(pass_.kernels); ++i) {
      waits.push_back(KernelOf(i).before.size());
      if (waits.back() == 0) ready_.insert(i);
    }
    std::vector<int> order;
    while (!ready_.empty()) {
      const int next = *std::ranges::min_element(
          ready_, {}, [this](int kernel) { return Priority(kernel); });
      ready_.erase(next);
      order.push_back(next);
      Account(next);
      for (const int after : KernelOf(next).after) {
        if (--waits[IndexOf(after)] == 0) ready_.insert(after);
      }
    }
    return order;
  }

 private:
  const KernelBuffers& KernelOf(int kernel) const {
    return pass_.kernels[IndexOf(kernel)];
  }
  std::int64_t BytesOf(int buffer) const {
    return pass_.buffers[IndexOf(buffer)].bytes;
  }

  void CountFrees(int kernel) {
    for (const int buffer : KernelOf(kernel).read) {
      if (left_[IndexOf(buffer)] == 1)
        frees_[IndexOf(kernel)] += BytesOf(buffer);
    }
    for (const int buffer : KernelOf(kernel).made) {
      if (left_[IndexOf(buffer)] == 0)
        frees_[IndexOf(kernel)] += BytesOf(buffer);
    }
  }

  std::tuple<std::int64_t, std::int64_t, int> Priority(int kernel) const {
    const std::int64_t bytes = KernelOf(kernel).made_bytes;
    return {bytes > peak_ - live_ ? bytes : 0, bytes - frees_[IndexOf(kernel)],
            kernel};
  }

  void Account(int kernel) {
    live_ += KernelOf(kernel).made_bytes;
    peak_ = std::max(peak_, live_);
    live_ -= frees_[IndexOf(kernel)];
    for (const int buffer : KernelOf(kernel).read) {
      if (--left_[IndexOf(buffer)] != 1) continue;
      for (const int reader : pass_.buffers[IndexOf(buffer)].readers) {
        frees_[IndexOf(reader)] += BytesOf(buffer);
      }
    }
  }

  const PassBuffers& pass_;
  std::vector<std::int64_t> frees_;  ///< By kernel.
  std::vector<std::int64_t> left_;   ///< Readers to come, by buffer.
  std::set<int> ready_;
  std::int64_t live_ = 0;
  std::int64_t peak_ = 0;
};

std::vector<int> BreadthFirstOrder(const PassBuffers& pass) {
  std::vector<std::size_t> waits;
  std::vector<int> place(pass.kernels.size(), -1);
  std::set<std::pair<std::vector<int>, int>> ready;
  const auto add = [&](int kernel) {
    std::vector<int> places;
    for (const int before : pass.kernels[IndexOf(kernel)].before) {
      places.push_back(place[IndexOf(before)]);
    }
    std::ranges::sort(places);
    ready.emplace(std::move(places), kernel);
  };
  for (int i = 0; i < std::ssize(pass.kernels); ++i) {
    waits.push_back(pass.kernels[IndexOf(i)].before.size());
    if (waits.back() == 0) add(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int next = ready.extract(ready.begin()).value().second;
    place[IndexOf(next)] = static_cast<int>(order.size());
    order.push_back(next);
    for (const int after : pass.kernels[IndexOf(next)].after) {
      if (--waits[IndexOf(after)] == 0) add(after);
    }
  }
  return order;
}

class DepthFirstOrder {
 public:
  explicit DepthFirstOrder(const PassBuffers& pass)
      : pass_(pass), seen_(pass.kernels.size(), false) {
    for (const KernelBuffers& kernel : pass.kernels) {
      touched_.push_back(kernel.made_bytes);
      for (const int buffer : kernel.read) {
        touched_.back() += pass.buffers[IndexOf(buffer)].bytes;
      }
    }
  }

  std::vector<int> Run() {
    for (const int kernel : Sorted(GivenOrder(pass_))) Visit(kernel);
    return std::move(order_);
  }

 private:
  std::vector<int> Sorted(std::vector<int> kernels) const {
    std::ranges::sort(kernels, {}, [this](int kernel) {
      return std::pair(touched_[IndexOf(kernel)], kernel);
    });
    return kernels;
  }

  /// Chains are as long as the network is deep, so no recursion.
  void Visit(int start) {
    std::vector<std::pair<int, bool>> open = {{start, false}};
    while (!open.empty()) {
      const auto [kernel, is_done] = open.back();
      open.pop_back();
      if (is_done) {
        order_.push_back(kernel);
        continue;
      }
      if (seen_[IndexOf(kernel)]) continue;
      seen_[IndexOf(kernel)] = true;
      open.emplace_back(kernel, true);
      std::vector<int> before = Sorted(pass_.kernels[IndexOf(kernel)].before);
      std::ranges::reverse(before);
      for (const int one : before) open.emplace_back(one, false);
    }
  }

  const PassBuffers& pass_;
  std::vector<bool> seen_;
  std::vector<std::int64_t> touched_;  ///< Bytes, by kernel.
  std::vector<int> order_;
};

std::int64_t PeakOf(const PassBuffers& pass, const std::vector<int>& order) {
  const std::vector<std::int64_t> live = LiveBytes(pass, order);
  return *std::ranges::max_element(live);
}

}  // namespace

std::vector<std::int64_t> LiveBytes(const PassBuffers& pass,
                                    const std::vector<int>& order) {
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[IndexOf(order[i])] = i;
  std::vector<std::int64_t> live(order.size() + 1, 0);
  const auto end = [&](const Buffer& buffer, std::size_t made) {
    for (const int reader : buffer.readers) {
      made = std::max(made, place[IndexOf(reader)]);
    }
    if (!buffer.is_result) live[made + 1] -= buffer.bytes;
  };
  for (const Buffer& buffer : pass.buffers) {
    if (!buffer.is_kept) continue;
    live[0] += buffer.bytes;
    end(buffer, 0);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const int made : pass.kernels[IndexOf(order[i])].made) {
      live[i] += pass.buffers[IndexOf(made)].bytes;
      end(pass.buffers[IndexOf(made)], i);
    }
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  return live;
}

std::vector<int> OrderForPeak(const PassBuffers& pass) {
  std::vector<int> best = GivenOrder(pass);
  if (best.empty()) return best;
  std::int64_t least = PeakOf(pass, best);
  for (std::vector<int>& order :
       std::vector{GreedyOrder(pass).Run(), BreadthFirstOrder(pass),
                   DepthFirstOrder(pass).Run()}) {
    const std::int64_t peak = PeakOf(pass, order);
    if (peak >= least) continue;
    least = peak;
    best = std::move(order);
  }
  return best;
}

}  // namespace foretell::runtime
