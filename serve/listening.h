#pragma once

#include <string>

namespace foretell::serve {

/// The system's reason why `address`:`port` cannot be bound: "Address already
/// in use". Tries to bind; "" if that succeeds.
std::string WhyNotListening(const std::string& address, int port);

}  // namespace foretell::serve
