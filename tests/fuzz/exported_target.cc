// The graph in an archive of torch.export. LibTorch itself is not instrumented,
// as in script_targets.cc.

#include <caffe2/serialize/inline_container.h>

#include <string>

#include "foretell/error.h"
#include "foretell/trace.h"
#include "frontends/exported/exported_program.h"
#include "src/core/files.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/promises.h"

namespace foretell::fuzz {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

void WriteArchive(const std::string& path, std::string_view model) {
  constexpr std::string_view kMarker = "pt2";
  caffe2::serialize::PyTorchStreamWriter writer(path);
  writer.writeRecord("archive_format", kMarker.data(), kMarker.size());
  writer.writeRecord("models/model.json", model.data(), model.size());
  writer.writeEndOfFile();
}

/// The inputs that the file was exported with; a size that it lacks is 2.
std::vector<BoundInput> InputsOf(const Program& program) {
  std::vector<BoundInput> inputs;
  for (const InputSpec& input : program.inputs()) {
    BoundInput& bound = inputs.emplace_back();
    bound.name = input.name;
    bound.type.dtype = input.dtype.value_or(DType::kF32);
    for (const InputDim& dim : *input.dims) {
      bound.type.shape.push_back(dim.value.value_or(2));
    }
  }
  return inputs;
}

}  // namespace

void ReadExportedGraph(std::string_view text) {
  static const ScratchFile file("exported.pt2");
  WriteArchive(file.path(), text);
  try {
    const Program program =
        exported::ReadProgram(OpenRegularFile(file.path(), kMostBytes));
    const std::vector<BoundInput> inputs = InputsOf(program);
    TraceProgram(program, inputs);
    TraceProgram(program, inputs, {.run = {.mode = Mode::kTraining}});
  } catch (const Error& error) {
    RequireGoodMessage(error, file.path());
  }
}

}  // namespace foretell::fuzz
