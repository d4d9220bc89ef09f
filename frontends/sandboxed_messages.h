#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/frontends.h"
#include "foretell/program.h"
#include "foretell/trace.h"
#include "frontends/sandboxed_limits.h"

/// Messages between this process and the one in which a file is opened.
/// Requests are trusted; answers come from a process that a stranger's file may
/// have taken over, so every field is checked.
namespace foretell::sandboxed {

/// Description of a program, before any of it runs.
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

/// Arguments of TraceProgram, except for the program.
struct Request {
  std::string name;  ///< Of the program.
  std::vector<BoundInput> inputs;
  TraceOptions options;
};

/// Equal requests give equal bytes.
std::string PackRequest(const Request& request);
/// The same for a program called `name` whose inputs are not known yet.
std::string PackExpected(const std::string& name, const StepRequest& trace);
/// A request to the program that has `inputs`. Throws what BindInputs does if
/// they do not fit.
Request UnpackRequest(std::string_view bytes,
                      std::span<const InputSpec> inputs);

std::string PackTrace(const Trace& trace);
/// The answer to `request`. Throws Error(kCorrupt) with the reason if it has no
/// graph, or that of another step; kUnsupported if its graph is beyond
/// `limits`.
Trace UnpackTrace(std::string_view answer, const Request& request,
                  const ParseLimits& limits = {});

}  // namespace foretell::sandboxed
