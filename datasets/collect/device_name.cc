#include "datasets/collect/device_name.h"

#include "foretell/device.h"
#include "foretell/error.h"

namespace foretell::dataset {

std::string LabelDeviceName(const std::string& name) {
  try {
    return DeviceCatalog::BuiltIn().FindDevice(name).name;
  } catch (const Error&) {
    return name;
  }
}

}  // namespace foretell::dataset
