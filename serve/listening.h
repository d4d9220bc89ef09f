#pragma once

#include <string>

namespace foretell::serve {

/// Why `address`:`port` cannot be listened on, in the words of the system:
/// "Address already in use". Tries it; "" where it can be by now.
std::string WhyNotListening(const std::string& address, int port);

}  // namespace foretell::serve
