#include "cli/commands/interruption.h"

#include <csignal>

namespace foretell::cli {
namespace {

volatile std::sig_atomic_t asked_to_end = 0;

extern "C" void AskToEnd(int signal) {
  asked_to_end = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interruption::Interruption() {
  asked_to_end = 0;
  std::signal(SIGINT, &AskToEnd);
  std::signal(SIGTERM, &AskToEnd);
}

Interruption::~Interruption() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool Interruption::Asked() const { return asked_to_end != 0; }

}  // namespace foretell::cli
