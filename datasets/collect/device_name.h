#pragma once

#include <string>

namespace foretell::dataset {

/// What labels call a device: the catalogue's name of one that it has, any
/// other as it is.
std::string LabelDeviceName(const std::string& name);

}  // namespace foretell::dataset
