#include "src/pictures/device_json.h"

#include <nlohmann/json.hpp>

#include "src/mig/mig_json.h"

namespace foretell::pictures {

using Json = nlohmann::ordered_json;

Json DeviceToJson(const DeviceSpec& device) {
  Json peaks = Json::object();
  for (const auto& [precision, tflops] : device.peak_tflops) {
    peaks[PrecisionName(precision)] = tflops;
  }
  return {{"name", device.name},
          {"display_name", device.display_name},
          {"memory_mib", device.memory_mib},
          {"usable_mib", device.usable_mib},
          {"sms", device.sms},
          {"bandwidth_gb_s", device.bandwidth_gb_s},
          {"peak_tflops", std::move(peaks)},
          {"mig", mig::ProfilesToJson(device)}};
}

}  // namespace foretell::pictures
