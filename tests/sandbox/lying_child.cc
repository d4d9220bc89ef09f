// Preloaded into foretell, this stands for a file that has taken over the
// process in which it is opened: in a forked child it replaces one of the
// answers. FORETELL_LIE names the row of kLies; which answer it replaces stands
// there. Messages are streamed from small buffers, so that what a test measures
// is the cost of reading them.

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

namespace {

using Send = ssize_t (*)(int, const void*, std::size_t, int);

constexpr std::int64_t kMega = std::int64_t{1} << 20;
constexpr std::string_view kSteering =
    "\x1b[31m\x1b]0;x\a \xe2\x80\xae </script>\nforetell: error: forged\n";

pid_t parent = 0;
Send real_send = nullptr;

/// Waits until it is killed, and takes no processor meanwhile.
[[noreturn]] void Wait() {
  while (true) poll(nullptr, 0, -1);
}

/// The answer that is replaced, and what is said instead.
class Lie {
 public:
  Lie(int socket, std::string_view frame) : socket_(socket), frame_(frame) {}

  std::string_view frame() const { return frame_; }
  std::string_view body() const { return frame_.substr(9); }
  int socket() const { return socket_; }
  void set_flags(int flags) { flags_ = flags; }

  void Raw(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent =
          real_send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | flags_);
      if (sent <= 0) Wait();
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void Number(std::int64_t value) {
    Raw({reinterpret_cast<const char*>(&value), sizeof(value)});
  }
  void Byte(char byte) { Raw({&byte, 1}); }
  void Header(char kind, std::int64_t length) {
    Byte(kind);
    Number(length);
  }
  void Frame(char kind, std::string_view body) {
    Header(kind, std::ssize(body));
    Raw(body);
  }
  /// `bytes` of `pattern` over and over.
  void Fill(std::string_view pattern, std::int64_t bytes) {
    std::string block;
    while (block.size() < 65536) block += pattern;
    while (bytes > 0) {
      const auto count = std::min<std::int64_t>(bytes, std::ssize(block));
      Raw(std::string_view(block).substr(0, static_cast<std::size_t>(count)));
      bytes -= count;
    }
  }
  /// The same as a text with its length.
  void FillText(std::string_view pattern, std::int64_t bytes) {
    Number(bytes);
    Fill(pattern, bytes);
  }

 private:
  int socket_;
  std::string_view frame_;
  int flags_ = 0;
};

/// A body that is made before it is sent.
class Body {
 public:
  Body& Number(std::int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Body& Byte(char byte) {
    bytes_ += byte;
    return *this;
  }
  Body& Text(std::string_view text) {
    Number(std::ssize(text));
    bytes_ += text;
    return *this;
  }
  /// An input's name, with no number that fills it, and none that it is.
  Body& InputCalled(std::string_view name) {
    return Text(name).Number(0).Byte(0);
  }
  /// An input without a type and dimensions.
  Body& Input(std::string_view name) {
    return InputCalled(name).Byte(0).Byte(0);
  }
  /// Parameters, element types, and warnings of both modes: none.
  Body& NoMore() { return Number(0).Number(0).Number(0).Number(0); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// The honest graph's first line, which names the step that was asked for.
std::string FirstLineOf(const Lie& lie) {
  const std::string_view text = lie.body().substr(8);
  return std::string(text.substr(0, text.find('\n') + 1));
}

/// A trace whose graph goes on with `opening`, and `pattern` over and over.
void SendGraph(Lie& lie, const char* opening, std::string_view pattern,
               std::int64_t bytes) {
  const std::string head = FirstLineOf(lie) + opening;
  const std::int64_t size = std::ssize(head) + bytes;
  lie.Header(0, 8 + size + 16);
  lie.Number(size);
  lie.Raw(head);
  lie.Fill(pattern, bytes);
  lie.Number(0);
  lie.Number(0);
}

/// A trace whose graph has lines with numbers, so that no two names are one.
void SendNumberedGraph(Lie& lie, const char* before, const char* after,
                       std::int64_t bytes) {
  const std::string head = FirstLineOf(lie);
  const std::int64_t size = std::ssize(head) + bytes;
  lie.Header(0, 8 + size + 16);
  lie.Number(size);
  lie.Raw(head);
  std::string block;
  std::int64_t number = 0;
  for (std::int64_t left = bytes; left > 0;) {
    block.clear();
    while (block.size() < 65536) {
      block.append(before).append(std::to_string(number++)).append(after);
    }
    block.resize(std::min(block.size(), static_cast<std::size_t>(left)));
    lie.Raw(block);
    left -= std::ssize(block);
  }
  lie.Number(0);
  lie.Number(0);
}

void SendWarnings(Lie& lie, std::int64_t count, std::string_view pattern,
                  std::int64_t bytes) {
  const Body head = Body().Text("onnx").Number(0).Number(0).Number(0);
  lie.Header(0, std::ssize(head.bytes()) + 8 + count * (8 + bytes) + 8);
  lie.Raw(head.bytes());
  lie.Number(count);
  for (std::int64_t i = 0; i < count; ++i) lie.FillText(pattern, bytes);
  lie.Number(0);
}

void SendInputs(Lie& lie, std::int64_t count, std::int64_t dims) {
  Body input = Body().InputCalled("x").Byte(0).Byte(dims > 0 ? 1 : 0);
  if (dims > 0) input.Number(dims);
  for (std::int64_t i = 0; i < dims; ++i) {
    input.Text("").Byte(1).Number(1).Byte(1).Number(1).Byte(1).Number(1);
  }
  const Body head = Body().Text("onnx").Number(count);
  const Body tail = Body().NoMore();
  lie.Header(0, std::ssize(head.bytes()) + count * std::ssize(input.bytes()) +
                    std::ssize(tail.bytes()));
  lie.Raw(head.bytes());
  for (std::int64_t i = 0; i < count; ++i) lie.Raw(input.bytes());
  lie.Raw(tail.bytes());
}

void SendOutputs(Lie& lie, std::int64_t count) {
  std::int64_t graph = 0;
  std::memcpy(&graph, lie.body().data(), sizeof(graph));
  const std::string_view text =
      lie.body().substr(0, static_cast<std::size_t>(8 + graph));
  Body output = Body().Text("o\x1b[31m").Text("f32").Number(1);
  output.Number(INT64_MAX).Byte(0);
  lie.Header(0, std::ssize(text) + 8 + count * std::ssize(output.bytes()) + 8);
  lie.Raw(text);
  lie.Number(count);
  for (std::int64_t i = 0; i < count; ++i) lie.Raw(output.bytes());
  lie.Number(0);
}

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
    succeeded |= real_send(number, "x", 1, MSG_NOSIGNAL) >= 0;
  }
  SayWhether(lie, succeeded);
}

enum Which : std::uint8_t { kDescription, kTrace };

struct Row {
  const char* name;
  Which replaces;
  void (*tell)(Lie& lie);
};

constexpr Row kLies[] = {
    // Frames.
    {"length -1", kTrace, [](Lie& lie) { lie.Header(0, -1); }},
    {"length 2^62", kTrace, [](Lie& l) { l.Header(0, INT64_MAX / 2 + 1); }},
    {"length 65 MiB", kTrace, [](Lie& l) { l.Header(0, 65 * kMega); }},
    {"length 20 MiB, no more", kTrace,
     [](Lie& lie) { lie.Header(0, 20 * kMega); }},
    {"length one short", kTrace,
     [](Lie& lie) {
       lie.Header(0, std::ssize(lie.body()) - 1);
       lie.Raw(lie.body());
     }},
    {"length one long", kTrace,
     [](Lie& lie) {
       lie.Header(0, std::ssize(lie.body()) + 1);
       lie.Raw(lie.body());
     }},
    {"kind -1", kTrace, [](Lie& lie) { lie.Frame(-1, "x"); }},
    {"kind 5", kTrace, [](Lie& lie) { lie.Frame(5, "x"); }},
    {"kind 127", kDescription, [](Lie& lie) { lie.Frame(127, "x"); }},
    {"error that steers", kTrace, [](Lie& l) { l.Frame(1, kSteering); }},
    {"error of 4 KB that steers", kDescription,
     [](Lie& lie) {
       lie.Header(1, 4096);
       lie.Fill("\x1b[31m\n", 4096);
     }},
    {"error of 200 MB", kTrace,
     [](Lie& lie) {
       lie.Header(1, 200 * kMega);
       lie.Fill("e", 200 * kMega);
     }},
    {"error of no memory", kTrace,
     [](Lie& lie) { lie.Frame(1, "std::bad_alloc"); }},
    {"byte by byte", kTrace,
     [](Lie& lie) {
       for (const char byte : lie.frame()) lie.Byte(byte);
     }},
    {"byte by byte, for ever", kTrace,
     [](Lie& lie) {
       lie.Header(0, 20 * kMega);
       for (std::int64_t i = 0; i < 20 * kMega; ++i) {
         lie.Byte('x');
         poll(nullptr, 0, 1);
       }
     }},
    {"the answer twice", kDescription,
     [](Lie& lie) {
       lie.Raw(lie.frame());
       lie.Raw(lie.frame());
     }},
    {"10,000 answers", kTrace,
     [](Lie& lie) {
       for (int i = 0; i < 10'000; ++i) lie.Raw(lie.frame());
     }},
    {"nothing", kTrace, [](Lie& lie) { lie.Frame(0, ""); }},
    {"silence", kDescription, [](Lie&) { Wait(); }},
    {"abort", kTrace, [](Lie&) { std::abort(); }},
    {"exit 0", kTrace, [](Lie&) { _exit(0); }},
    {"half, then exit", kTrace,
     [](Lie& lie) {
       lie.Raw(lie.frame().substr(0, lie.frame().size() / 2));
       _exit(0);
     }},
    {"zeros", kDescription,
     [](Lie& lie) {
       lie.Header(0, std::ssize(lie.body()));
       lie.Fill(std::string_view("\0", 1), std::ssize(lie.body()));
     }},
    {"ones", kTrace,
     [](Lie& lie) {
       lie.Header(0, std::ssize(lie.body()));
       lie.Fill("\xff", std::ssize(lie.body()));
     }},
    {"20 MB of zeros", kDescription,
     [](Lie& lie) {
       lie.Header(0, 20 * kMega);
       lie.Fill(std::string_view("\0", 1), 20 * kMega);
     }},
    {"1 GB of zeros", kTrace,
     [](Lie& lie) {
       lie.Header(0, 1024 * kMega);
       lie.Fill(std::string_view("\0", 1), 1024 * kMega);
     }},
    {"trailing bytes", kTrace,
     [](Lie& lie) { lie.Frame(0, std::string(lie.body()) + "more"); }},
    // Descriptions.
    {"unknown format", kDescription,
     [](Lie& lie) {
       lie.Frame(0, Body().Text("zoo").Number(0).NoMore().bytes());
     }},
    {"a million inputs, announced", kDescription,
     [](Lie& lie) {
       lie.Frame(0, Body().Text("onnx").Number(1'000'000).bytes());
     }},
    {"2^63 inputs", kDescription,
     [](Lie& lie) {
       lie.Frame(0, Body().Text("onnx").Number(INT64_MIN).bytes());
     }},
    {"a million inputs", kDescription,
     [](Lie& lie) { SendInputs(lie, 1'000'000, 0); }},
    {"200,000 inputs", kDescription,
     [](Lie& lie) { SendInputs(lie, 200'000, 0); }},
    {"a million dimensions", kDescription,
     [](Lie& lie) { SendInputs(lie, 1, 1'000'000); }},
    {"1,000 inputs of 900 dimensions", kDescription,
     [](Lie& lie) { SendInputs(lie, 1'000, 900); }},
    {"1,000 inputs of 10,000 dimensions", kDescription,
     [](Lie& lie) { SendInputs(lie, 1'000, 10'000); }},
    {"a text of 2^63", kDescription,
     [](Lie& lie) { lie.Frame(0, Body().Number(INT64_MIN).bytes()); }},
    {"a text longer than its message", kDescription,
     [](Lie& lie) { lie.Frame(0, Body().Number(kMega).bytes() + "onnx"); }},
    {"a size of -1", kDescription,
     [](Lie& lie) {
       Body body = Body().Text("onnx").Number(1).InputCalled("x");
       body.Byte(0).Byte(1);
       lie.Frame(0, body.Number(1).Text("").Byte(1).Number(-1).bytes());
     }},
    {"an unknown element type", kDescription,
     [](Lie& lie) {
       Body body = Body().Text("onnx").Number(1).InputCalled("x").Byte(1);
       lie.Frame(0, body.Text("f99\x1b[31m").bytes());
     }},
    {"names that steer", kDescription,
     [](Lie& lie) {
       Body body = Body().Text("onnx").Number(1).Input(kSteering);
       lie.Frame(0, body.NoMore().bytes());
     }},
    {"2^63-1 parameters", kDescription,
     [](Lie& lie) {
       Body body = Body().Text("onnx").Number(0).Number(INT64_MAX);
       lie.Frame(0, body.Number(0).Number(0).Number(0).bytes());
     }},
    {"a million warnings", kDescription,
     [](Lie& lie) { SendWarnings(lie, 1'000'000, "w\x1b[31m", 6); }},
    {"1,000 warnings of 1 KB", kDescription,
     [](Lie& lie) { SendWarnings(lie, 1'000, "w\x1b[31m\n", 1'024); }},
    {"a warning of 500 MB", kDescription,
     [](Lie& lie) { SendWarnings(lie, 1, "w", 500 * kMega); }},
    {"a warning of 20 MB", kDescription,
     [](Lie& lie) { SendWarnings(lie, 1, "w", 20 * kMega); }},
    // Traces.
    {"a graph of 20 MB of inputs", kTrace,
     [](Lie& lie) {
       SendNumberedGraph(lie, "%x", " = input f32[1]\n", 20 * kMega);
     }},
    {"a graph of 900 MB", kTrace,
     [](Lie& lie) {
       SendNumberedGraph(lie, "%x", " = input f32[1]\n", 900 * kMega);
     }},
    {"a graph of 20 MB of operators", kTrace,
     [](Lie& lie) {
       SendNumberedGraph(lie, "%x", " = relu(input f32[]) : f32[]\n",
                         20 * kMega);
     }},
    {"20 MB of comments", kTrace,
     [](Lie& lie) { SendGraph(lie, "", "# and so on\n", 20 * kMega); }},
    {"20 MB of empty lines", kTrace,
     [](Lie& lie) { SendGraph(lie, "", "\n", 20 * kMega); }},
    {"20 MB of operands", kTrace,
     [](Lie& lie) { SendGraph(lie, "cat(", "input f32[],\n", 20 * kMega); }},
    {"a list of 10 million numbers", kTrace,
     [](Lie& lie) { SendGraph(lie, "relu() {a=[", "1,", 20 * kMega); }},
    {"a type of 10 million dimensions", kTrace,
     [](Lie& lie) { SendGraph(lie, "%x = input f32[", "1,", 20 * kMega); }},
    {"20 MB in quotes", kTrace,
     [](Lie& lie) { SendGraph(lie, "%\"", "x", 20 * kMega); }},
    {"200,000 outputs", kTrace, [](Lie& l) { SendOutputs(l, 200'000); }},
    {"a million outputs", kTrace, [](Lie& l) { SendOutputs(l, 1'000'000); }},
    // Ways out.
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

const Row* chosen = nullptr;

__attribute__((constructor)) void Prepare() {
  parent = getpid();
  real_send = reinterpret_cast<Send>(dlsym(RTLD_NEXT, "send"));
  const char* name = std::getenv("FORETELL_LIE");
  for (const Row& row : kLies) {
    if (name != nullptr && std::strcmp(name, row.name) == 0) chosen = &row;
  }
}

}  // namespace

extern "C" {

/// The name of a row of kLies; null behind the last.
const char* LieName(std::size_t row) {
  return row < std::size(kLies) ? kLies[row].name : nullptr;
}

ssize_t send(int socket, const void* bytes, std::size_t size, int flags) {
  static int sent = 0;
  const bool is_told = getpid() != parent && chosen != nullptr &&
                       sent++ == static_cast<int>(chosen->replaces);
  if (!is_told) return real_send(socket, bytes, size, flags);
  Lie lie(socket, {static_cast<const char*>(bytes), size});
  chosen->tell(lie);
  return static_cast<ssize_t>(size);
}
}
