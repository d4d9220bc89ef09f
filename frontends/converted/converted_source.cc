#include "frontends/converted/converted_source.h"

#include <utility>

#include "foretell/trace.h"

namespace foretell::converted {
namespace {

class NotedSource final : public Program::Source {
 public:
  NotedSource(Program program, std::string note)
      : program_(std::move(program)), note_(std::move(note)) {}

  std::string_view format() const override { return program_.format(); }
  std::span<const InputSpec> inputs() const override {
    return program_.inputs();
  }
  std::int64_t parameter_elements() const override {
    return program_.parameter_elements();
  }
  std::vector<std::string> warnings(Mode mode) const override {
    return WithFirst(program_.warnings(mode));
  }
  std::map<DType, std::int64_t> weight_elements() const override {
    return program_.weight_elements();
  }
  std::unique_ptr<ProgramInstance> Instantiate(
      const InstanceOptions& options) const override {
    return program_.Instantiate(options);
  }
  std::optional<Trace> TraceElsewhere(
      const Program& program, const std::vector<BoundInput>& inputs,
      const TraceOptions& options) const override {
    std::optional<Trace> trace =
        program_.Named(program.name()).TraceElsewhere(inputs, options);
    if (trace) trace->warnings = WithFirst(std::move(trace->warnings));
    return trace;
  }

 private:
  std::vector<std::string> WithFirst(std::vector<std::string> warnings) const {
    warnings.insert(warnings.begin(), note_);
    return warnings;
  }

  Program program_;
  std::string note_;
};

}  // namespace

Program WithNote(const Program& program, std::string note) {
  return {program.name(),
          std::make_shared<NotedSource>(program, std::move(note))};
}

}  // namespace foretell::converted
