#include "datasets/collect/device_name.h"

#include "foretell/device.h"

namespace foretell::dataset {

std::string LabelDeviceName(const std::string& name) {
  const DeviceSpec* device = DeviceCatalog::BuiltIn().DeviceNamed(name);
  return device != nullptr ? device->name : name;
}

}  // namespace foretell::dataset
