#include "training/samples/prior.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "foretell/error.h"

namespace foretell::training {

Prior AnalyticPrior(const ContextModel& context,
                    const std::optional<HostSpec>& host) {
  return {
      .name = "analytic",
      .figures = learned::AnalyticPriorNames(),
      .estimate = [context, host](const OperatorGraph& graph,
                                  const DeviceSpec& device, const Run& run) {
        return learned::AnalyticPriorFigures(graph, device, context, run, host);
      }};
}

std::map<PriorRequest, PriorFigures> EstimatePriors(
    const std::string& dataset, const Prior& prior,
    std::vector<PriorRequest> requests, int threads) {
  std::ranges::sort(requests);
  const auto repeated = std::ranges::unique(requests);
  requests.erase(repeated.begin(), repeated.end());
  std::vector<PriorFigures> figures(requests.size());
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      const Dataset file = Dataset::Open(dataset);
      for (std::size_t i = next++; i < requests.size(); i = next++) {
        const OperatorGraph graph = file.Graph(requests[i].graph);
        figures[i] =
            prior.estimate(graph, *requests[i].device, requests[i].run);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = requests.size();
    }
  };
  std::vector<std::jthread> workers;
  for (int i = 1; i < threads; ++i) workers.emplace_back(work);
  work();
  workers.clear();
  if (failure) std::rethrow_exception(failure);
  std::map<PriorRequest, PriorFigures> estimates;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    estimates.emplace(requests[i], std::move(figures[i]));
  }
  return estimates;
}

}  // namespace foretell::training
