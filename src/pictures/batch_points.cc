#include "src/pictures/batch_points.h"

#include <nlohmann/json.hpp>
#include <set>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "src/judge/report_json.h"

namespace foretell::pictures {
namespace {

using Json = nlohmann::ordered_json;

bool IsBeyond(const Prediction& prediction, const DeviceSpec& device) {
  return !mig::FitsMemory(prediction[Target::kMemory].interval.hi,
                          static_cast<double>(device.usable_mib));
}

Json VerdictToJson(const mig::Verdict& verdict) {
  return {{"profile", verdict.profile},
          {"fit", mig::FitText(verdict.fit)},
          {"latency_ms", RoundedForJson(verdict.latency_ms)}};
}

Json PointToJson(const BatchPoint& point, const DeviceSpec& device) {
  const mig::Recommendation advice =
      mig::Recommend(ToDemand(point.prediction), device);
  Json places = Json::array();
  for (const mig::Verdict& verdict : advice.profiles) {
    places.push_back(VerdictToJson(verdict));
  }
  places.push_back(VerdictToJson(advice.whole_device));
  Json json = {{"batch", point.batch}};
  for (const Target target : kAllTargets) {
    const Figure& figure = point.prediction[target];
    json[std::string(TargetName(target))] = {
        {"value", RoundedForJson(figure.value)},
        {"interval", Json::array({RoundedForJson(figure.interval.lo),
                                  RoundedForJson(figure.interval.hi)})}};
  }
  json["places"] = std::move(places);
  return json;
}

}  // namespace

BatchSweep SweepBatches(const std::function<Prediction(std::int64_t)>& predict,
                        const DeviceSpec& device, std::int64_t own,
                        std::int64_t most) {
  std::set<std::int64_t> batches = {own};
  for (std::int64_t batch = 1; batch <= most; batch *= 2) batches.insert(batch);
  BatchSweep sweep;
  for (const std::int64_t batch : batches) {
    try {
      sweep.points.push_back({batch, predict(batch)});
    } catch (const Error& error) {
      sweep.ended = error.what();
      if (batch >= own) return sweep;
      continue;
    }
    const bool beyond = IsBeyond(sweep.points.back().prediction, device);
    if (beyond && batch >= own) return sweep;
  }
  return sweep;
}

Json BatchPointsToJson(const std::vector<BatchPoint>& points,
                       const DeviceSpec& device) {
  Json list = Json::array();
  for (const BatchPoint& point : points) {
    list.push_back(PointToJson(point, device));
  }
  return list;
}

}  // namespace foretell::pictures
