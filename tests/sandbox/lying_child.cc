// Preloaded into foretell, this stands for a file that has taken over the
// process in which it is opened: in a forked child it replaces one of the
// answers. FORETELL_LIE names the lie (lies.h); which answer it replaces stands
// there. Messages are streamed from small buffers, so that what a test measures
// is the cost of reading them.

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "tests/sandbox/lies.h"

namespace foretell::lies {
namespace {

using Send = ssize_t (*)(int, const void*, std::size_t, int);

pid_t parent = 0;
Send real_send = nullptr;
const Row* chosen = nullptr;

/// The lie of this number over all tables; null behind the last.
const Row* LieAt(std::size_t number) {
  for (const std::span<const Row> table :
       {LiesOfFrames(), LiesOfDescriptions(), LiesOfTraces(), WaysOut()}) {
    if (number < table.size()) return &table[number];
    number -= table.size();
  }
  return nullptr;
}

const Row* LieCalled(std::string_view name) {
  for (std::size_t i = 0; const Row* row = LieAt(i); ++i) {
    if (row->name == name) return row;
  }
  return nullptr;
}

__attribute__((constructor)) void Prepare() {
  parent = getpid();
  real_send = reinterpret_cast<Send>(dlsym(RTLD_NEXT, "send"));
  if (const char* name = std::getenv("FORETELL_LIE")) chosen = LieCalled(name);
}

}  // namespace

ssize_t RealSend(int socket, const void* bytes, std::size_t size, int flags) {
  return real_send(socket, bytes, size, flags);
}

}  // namespace foretell::lies

using namespace foretell::lies;

extern "C" {

/// The name of a lie; null behind the last.
const char* LieName(std::size_t number) {
  const Row* const row = LieAt(number);
  return row == nullptr ? nullptr : row->name;
}

ssize_t send(int socket, const void* bytes, std::size_t size, int flags) {
  static int sent = 0;
  const bool is_told = getpid() != parent && chosen != nullptr &&
                       sent++ == static_cast<int>(chosen->replaces);
  if (!is_told) return RealSend(socket, bytes, size, flags);
  Lie lie(socket, {static_cast<const char*>(bytes), size});
  chosen->tell(lie);
  return static_cast<ssize_t>(size);
}
}
