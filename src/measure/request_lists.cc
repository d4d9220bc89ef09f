#include "src/measure/request_lists.h"

namespace foretell::measure {
namespace {

/// Every request at every one of `values`.
template <typename Value, typename Set>
std::vector<MeasureRequest> Cross(const std::vector<MeasureRequest>& requests,
                                  const std::vector<Value>& values, Set set) {
  std::vector<MeasureRequest> crossed;
  for (const MeasureRequest& request : requests) {
    for (const Value& value : values) {
      crossed.push_back(request);
      set(crossed.back(), value);
    }
  }
  return crossed;
}

}  // namespace

std::vector<MeasureRequest> RequestsOf(const MeasureRequest& base,
                                       const RequestLists& lists) {
  std::vector<MeasureRequest> requests = {base};
  requests = Cross(requests, lists.models,
                   [](MeasureRequest& request, const std::string& model) {
                     request.model = model;
                   });
  requests = Cross(requests, lists.devices,
                   [](MeasureRequest& request, const std::string& device) {
                     request.device = device;
                   });
  requests = Cross(
      requests, lists.modes,
      [](MeasureRequest& request, Mode mode) { request.run.mode = mode; });
  requests = Cross(requests, lists.precisions,
                   [](MeasureRequest& request, Precision precision) {
                     request.run.precision = precision;
                   });
  if (lists.batches.empty()) return requests;
  return Cross(requests, lists.batches,
               [](MeasureRequest& request, std::int64_t batch) {
                 request.inputs.batch = batch;
               });
}

}  // namespace foretell::measure
