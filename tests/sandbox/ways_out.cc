// What the locks of a child must not let it do.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "tests/sandbox/lies.h"

namespace foretell::lies {
namespace {

/// Says as an error whether something succeeded that must not.
void SayWhether(Lie& lie, bool succeeded) {
  lie.Frame(1, succeeded ? "ESCAPED" : "held");
}

void SendDescriptor(Lie& lie) {
  char byte = 'x';
  iovec part = {&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof(room);
  cmsghdr* control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = lie.socket();
  std::memcpy(CMSG_DATA(control), &number, sizeof(number));
  SayWhether(lie, sendmsg(lie.socket(), &message, 0) >= 0);
}

void MakeCode(Lie& lie) {
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  SayWhether(lie, code != MAP_FAILED);
}

void WriteElsewhere(Lie& lie) {
  bool succeeded = false;
  for (int number = 0; number < 64; ++number) {
    if (number == lie.socket()) continue;
    succeeded |= RealSend(number, "x", 1, MSG_NOSIGNAL) >= 0;
  }
  SayWhether(lie, succeeded);
}

constexpr Row kRows[] = {
    {"fork", kTrace, [](Lie& lie) { SayWhether(lie, fork() >= 0); }},
    {"a file", kTrace,
     [](Lie& lie) { SayWhether(lie, open("/etc/passwd", O_RDONLY) >= 0); }},
    {"a socket", kTrace,
     [](Lie& l) { SayWhether(l, socket(AF_INET, SOCK_STREAM, 0) >= 0); }},
    {"code", kTrace, &MakeCode},
    {"a descriptor", kTrace, &SendDescriptor},
    {"other descriptors", kTrace, &WriteElsewhere},
    {"bytes out of band", kTrace,
     [](Lie& lie) {
       lie.set_flags(MSG_OOB);
       lie.Byte('x');
       lie.set_flags(0);
       lie.Raw(lie.frame());
     }},
};

}  // namespace

std::span<const Row> WaysOut() { return kRows; }

}  // namespace foretell::lies
