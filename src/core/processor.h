#pragma once

#include <string>

namespace foretell {

/// The model of this machine's CPU, "Intel(R) Xeon(R) …", as Linux lists it;
/// "CPU" where it lists none.
std::string ProcessorName();

}  // namespace foretell
