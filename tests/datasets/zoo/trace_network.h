#pragma once

#include <string>

#include "foretell/trace.h"
#include "foretell/zoo.h"

namespace foretell::zoo_test {

/// The trace of network `name` at `batch`.
inline Trace TraceNetwork(const std::string& name, std::int64_t batch,
                          Mode mode = Mode::kInference,
                          Precision precision = Precision::kFp32) {
  const Program program = zoo::Load(name);
  const std::vector<BoundInput> inputs =
      BindInputs(program.inputs(), {.batch = batch}, program.name());
  return TraceProgram(program, inputs,
                      {.run = {.mode = mode, .precision = precision}});
}

}  // namespace foretell::zoo_test
