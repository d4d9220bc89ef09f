#pragma once

namespace foretell::cli {

/// Detects SIGINT and SIGTERM that arrive during its lifetime; a second signal
/// ends the process at once. At most one object may exist.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  bool Asked() const;
};

}  // namespace foretell::cli
