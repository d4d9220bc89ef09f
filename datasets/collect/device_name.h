#pragma once

#include <string>

namespace foretell::dataset {

/// Name of a device in labels: the catalogue's if it has the device, else
/// `name` unchanged.
std::string LabelDeviceName(const std::string& name);

}  // namespace foretell::dataset
