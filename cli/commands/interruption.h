#pragma once

namespace foretell::cli {

/// True once SIGINT or SIGTERM has arrived since this object was made; a second
/// one ends the process at once. One object at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  bool Asked() const;
};

}  // namespace foretell::cli
