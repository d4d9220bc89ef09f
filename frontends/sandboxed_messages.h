#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/program.h"
#include "foretell/trace.h"

/// What this process and the one in which a file is opened tell each other.
/// Requests are trusted; answers come from a process that a stranger's file may
/// have taken over, and are checked field by field.
namespace foretell::sandboxed {

/// What a program says of itself before anything of it runs.
struct Description {
  std::string format;
  std::vector<InputSpec> inputs;
  std::int64_t parameter_elements = 0;
  std::map<DType, std::int64_t> weight_elements;
  std::array<std::vector<std::string>, 2> warnings;  ///< By Mode.
};

std::string PackDescription(const Program& program);
/// Throws Error(kCorrupt), as UnpackTrace.
Description UnpackDescription(std::string_view answer);

/// What TraceProgram is called with, but for the program.
struct Request {
  std::string name;  ///< Of the program.
  std::vector<BoundInput> inputs;
  TraceOptions options;
};

std::string PackRequest(const Request& request);
Request UnpackRequest(std::string_view bytes);

std::string PackTrace(const Trace& trace);
/// The answer to `request`. Throws Error(kCorrupt) that says what is wrong with
/// it: no graph, or one of another step.
Trace UnpackTrace(std::string_view answer, const Request& request);

}  // namespace foretell::sandboxed
