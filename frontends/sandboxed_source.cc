// The child is forked once LibTorch is loaded and this process has prepared all
// that traces have in common, so that it begins with that. It serves one file:
// nothing that a file does to LibTorch's state reaches the next one.

#include "frontends/sandboxed_source.h"

#include <fmt/core.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "frontends/sandboxed_messages.h"
#include "frontends/torchscript/archive.h"
#include "frontends/torchscript/torchscript_program.h"
#include "src/core/files.h"
#include "src/core/process.h"
#include "src/core/units.h"
#include "src/sandbox/lock.h"

namespace foretell {
namespace {

using sandboxed::Description;
using sandboxed::Request;

/// Address space beside what the process has already.
constexpr std::int64_t kTraceBytes = 4096 * kMiB;
constexpr std::int64_t kArithmeticBytes = 8192 * kMiB;
/// Processor seconds in all, should nobody be left to end the child.
constexpr std::int64_t kMostCpuSeconds = 3600;

/// Address space of this process: what LibTorch maps is no matter of the file.
std::int64_t MappedBytes() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

ForkOptions ForkOptionsOf(const LoadOptions& options) {
  ForkOptions fork;
  fork.limits.cpu_s = kMostCpuSeconds;
  fork.limits.file_bytes = 0;
  fork.limits.core_bytes = 0;
#ifndef __SANITIZE_ADDRESS__
  fork.limits.memory_bytes =
      MappedBytes() +
      (options.runs_arithmetic ? kArithmeticBytes : kTraceBytes);
#endif
  fork.limits.deadline_s = options.timeout_s;
  return fork;
}

/// All that the child does.
void Serve(Channel& channel, RegularFile file, const LoadOptions& options) {
  sandbox::LockProcess(
      {.keep = {channel.end().number(), file.descriptor.number()},
       .makes_code = options.runs_arithmetic});
  const Program program = LoadHere(std::move(file), options);
  channel.Send(sandboxed::PackDescription(program));
  while (const std::optional<std::string> bytes = channel.Receive()) {
    const Request request = sandboxed::UnpackRequest(*bytes);
    try {
      channel.Send(sandboxed::PackTrace(TraceProgram(
          program.Named(request.name), request.inputs, request.options)));
    } catch (const std::exception& error) {
      channel.SendError(error);
    }
  }
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
  SandboxedSource(RegularFile file, const LoadOptions& options)
      : path_(file.path), timeout_s_(options.timeout_s) {
    child_.emplace(ChildProcess::Fork(
        ForkOptionsOf(options), [&file, &options](Channel& channel) {
          Serve(channel, std::move(file), options);
        }));
  }

  ~SandboxedSource() override {
    if (child_) ChildProcess::Abandon(std::move(*child_));
  }
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
    throw Error(ErrorCode::kUnsupported,
                path_ +
                    ": is open in a sandbox, where it can be traced only; "
                    "load it with Sandbox::kOff");
  }

  std::optional<Trace> TraceElsewhere(
      const Program& program, const std::vector<BoundInput>& inputs,
      const TraceOptions& options) const override {
    const Request request{program.name(), inputs, options};
    return Naming(request.name, [&] {
      child_->SetDeadline(timeout_s_);
      // A child that is gone shows when its answer is taken.
      child_->channel().Send(sandboxed::PackRequest(request));
      return sandboxed::UnpackTrace(TakeAnswer(), request);
    });
  }

 private:
  /// The child's answer by its deadline. Throws what it threw; Error when it
  /// has none to give.
  std::string TakeAnswer() const {
    std::optional<std::string> answer =
        child_->channel().Receive(child_->deadline());
    if (answer) return std::move(*answer);
    const ProcessEnd end =
        child_->channel().is_closed() ? child_->Wait() : child_->Kill();
    if (!child_->channel().is_closed()) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("is not traced after {} s, the limit of "
                              "--timeout",
                              timeout_s_));
    }
    throw Error(ErrorCode::kCorrupt,
                "the process that opened it was " + ToString(end));
  }

  std::string path_;
  double timeout_s_;
  mutable std::optional<ChildProcess> child_;
  Description description_;
};

}  // namespace

std::function<Program()> StartSandboxed(RegularFile file,
                                        const LoadOptions& options) {
  InitializeTracing();
  if (torchscript::LooksLikeZip(FirstBytes(file, 4))) {
    torchscript::Prepare();
  }
  const std::string path = file.path;
  auto source = std::make_shared<SandboxedSource>(std::move(file), options);
  return [path, source] {
    source->Await();
    return Program(path, source);
  };
}

}  // namespace foretell
