#pragma once

#include <string>

namespace foretell {

/// The model of this machine's CPU, "Intel(R) Xeon(R) …", as listed by Linux;
/// "CPU" if it lists none.
std::string ProcessorName();

}  // namespace foretell
