// The worker is forked once LibTorch is loaded and this process has prepared
// all that traces have in common, so that it starts with that. It serves one
// file: nothing that a file does to LibTorch's state reaches the next one.
//
// It gets the expected requests in advance, so that it traces while this
// process is busy with an earlier file. Each request that this process then
// makes is compared with those, and the answer is checked against it.
#include "frontends/sandboxed_source.h"

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "foretell/error.h"
#include "frontends/sandboxed_messages.h"
#include "frontends/torchscript/archive.h"
#include "frontends/torchscript/torchscript_program.h"
#include "src/core/failure.h"
#include "src/core/units.h"
#include "src/sandbox/worker.h"

namespace foretell {
namespace {

using sandboxed::Description;
using sandboxed::Request;

/// Address space in addition to what the process already has.
constexpr std::int64_t kTraceBytes = 4096 * kMiB;
constexpr std::int64_t kArithmeticBytes = 8192 * kMiB;
/// How LibTorch's interpreter, too, reports that memory has run out.
constexpr std::string_view kOutOfMemory = "std::bad_alloc";
/// What a file has done whose process touched memory that it does not have: a
/// full stack is the usual case.
constexpr std::string_view kWhyOverrun =
    ": the file is damaged, or nests too deep for LibTorch";
/// Total CPU seconds, in case no process is left to end the child.
constexpr std::int64_t kMostCpuSeconds = 3600;

std::int64_t MemoryBytes(const LoadOptions& options) {
  return options.runs_arithmetic ? kArithmeticBytes : kTraceBytes;
}

/// Address space of this process: LibTorch's mappings do not count for a file.
std::int64_t MappedBytes() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

sandbox::WorkerOptions WorkerOptionsOf(const LoadOptions& options,
                                       const RegularFile& file) {
  sandbox::WorkerOptions worker{.deadline_s = options.timeout_s};
  worker.limits.cpu_s = kMostCpuSeconds;
  worker.limits.file_bytes = 0;
  worker.limits.core_bytes = 0;
#ifndef __SANITIZE_ADDRESS__
  worker.limits.memory_bytes = MappedBytes() + MemoryBytes(options);
#endif
  worker.most_answer_bytes = sandboxed::MostAnswerBytes(file.size);
  worker.lock = {.keep = {file.descriptor.number()},
                 .makes_code = options.runs_arithmetic};
  return worker;
}

/// What the worker does for each task; an empty one asks for the description.
std::string Answer(const Program& program, std::string_view task) {
  if (task.empty()) return sandboxed::PackDescription(program);
  const Request request = sandboxed::UnpackRequest(task, program.inputs());
  return sandboxed::PackTrace(TraceProgram(program.Named(request.name),
                                           request.inputs, request.options));
}

/// The same, unless it is longer than what is accepted.
std::string AnswerWithin(std::int64_t most_bytes, const Program& program,
                         std::string_view task) {
  std::string answer = Answer(program, task);
  if (std::ssize(answer) <= most_bytes) return answer;
  throw Unsupported(
      "its graph is a text of {} bytes, expected at most {} for a file of its "
      "size",
      answer.size(), most_bytes);
}

/// What `work` returns; its errors begin with `name`.
template <typename Work>
auto Naming(const std::string& name, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    const bool named = std::string_view(error.what()).starts_with(name);
    throw named ? error : WithContext(name, error);
  }
}

class SandboxedSource final : public Program::Source {
 public:
  SandboxedSource(RegularFile file, const LoadOptions& options,
                  const std::vector<StepRequest>& expected)
      : path_(file.path),
        timeout_s_(options.timeout_s),
        memory_mib_(MemoryBytes(options) / kMiB),
        parse_limits_(sandboxed::LimitsFor(file.size, options.timeout_s)),
        expected_(expected),
        worker_(WorkerOptionsOf(options, file), [&file, &options] {
          const std::int64_t most = sandboxed::MostAnswerBytes(file.size);
          const Program program = LoadHere(std::move(file), options);
          return [most, program](std::string_view task) {
            return AnswerWithin(most, program, task);
          };
        }) {
    worker_.Give("");
    for (const StepRequest& trace : expected) {
      worker_.Give(sandboxed::PackExpected(path_, trace));
    }
  }

  ~SandboxedSource() override { sandbox::Worker::Abandon(std::move(worker_)); }
  SandboxedSource(const SandboxedSource&) = delete;
  SandboxedSource& operator=(const SandboxedSource&) = delete;

  /// Waits until the file is open. Required before anything else.
  void Await() {
    description_ = Naming(
        path_, [this] { return sandboxed::UnpackDescription(TakeAnswer()); });
  }

  std::string_view format() const override { return description_.format; }
  std::span<const InputSpec> inputs() const override {
    return description_.inputs;
  }
  std::int64_t parameter_elements() const override {
    return description_.parameter_elements;
  }
  std::vector<std::string> warnings(Mode mode) const override {
    return description_.warnings[static_cast<std::size_t>(mode)];
  }
  std::map<DType, std::int64_t> weight_elements() const override {
    return description_.weight_elements;
  }

  std::unique_ptr<ProgramInstance> Instantiate(
      const InstanceOptions& /*options*/) const override {
    throw Unsupported(
        "{}: is open in a sandbox, which can only trace it; load it with "
        "Sandbox::kOff",
        path_);
  }

  std::optional<Trace> TraceElsewhere(
      const Program& program, const std::vector<BoundInput>& inputs,
      const TraceOptions& options) const override {
    const Request request{program.name(), inputs, options};
    return Naming(request.name, [&] {
      if (!TakesExpected(request)) {
        worker_.Give(sandboxed::PackRequest(request));
      }
      return sandboxed::UnpackTrace(TakeAnswer(), request, parse_limits_);
    });
  }

 private:
  /// Whether the next answer is the one to `request`. Drops answers to traces
  /// expected before it, or all of them if `request` was not expected.
  bool TakesExpected(const Request& request) const {
    while (next_expected_ < expected_.size()) {
      if (IsExpected(expected_[next_expected_++], request)) return true;
      worker_.Await();
    }
    return false;
  }

  bool IsExpected(const StepRequest& expected, const Request& request) const {
    try {
      const Request same{
          path_, BindInputs(description_.inputs, expected.inputs, path_),
          expected.options};
      return sandboxed::PackRequest(same) == sandboxed::PackRequest(request);
    } catch (const Error&) {
      return false;
    }
  }

  /// The worker's next answer. Throws what it threw; Error if it gives no
  /// answer.
  std::string TakeAnswer() const {
    using Kind = sandbox::Outcome::Kind;
    sandbox::Outcome outcome = worker_.Await();
    switch (outcome.kind) {
      case Kind::kDone:
        return std::move(outcome.text);
      case Kind::kFailed:
        if (outcome.text.ends_with(kOutOfMemory)) RefuseMemory();
        throw Error(outcome.code, outcome.text);
      case Kind::kTimedOut:
        throw Unsupported("is not traced after {} s, the limit of --timeout",
                          timeout_s_);
      case Kind::kDied:
        break;
    }
    throw Corrupt("the process that opened it was {}{}", outcome.text,
                  outcome.signal == SIGSEGV ? kWhyOverrun : "");
  }

  [[noreturn]] void RefuseMemory() const {
    throw Unsupported("needs more memory than the {} MiB of a sandbox",
                      memory_mib_);
  }

  std::string path_;
  double timeout_s_;
  std::int64_t memory_mib_;
  sandboxed::ParseLimits parse_limits_;
  std::vector<StepRequest> expected_;
  mutable std::size_t next_expected_ = 0;
  mutable sandbox::Worker worker_;
  Description description_;
};

}  // namespace

std::function<Program()> StartSandboxed(
    RegularFile file, const LoadOptions& options,
    const std::vector<StepRequest>& expected) {
  InitializeTracing();
  if (torchscript::LooksLikeZip(FirstBytes(file, 4))) {
    torchscript::Prepare();
  }
  const std::string path = file.path;
  auto source =
      std::make_shared<SandboxedSource>(std::move(file), options, expected);
  return [path, source] {
    source->Await();
    return Program(path, source);
  };
}

}  // namespace foretell
