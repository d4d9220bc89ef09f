#pragma once

#include <string>

namespace foretell::serve {

/// Why `address`:`port` cannot be bound, in the words of the system: "Address
/// already in use". Tries it; "" if it succeeds by now.
std::string WhyNotListening(const std::string& address, int port);

}  // namespace foretell::serve
