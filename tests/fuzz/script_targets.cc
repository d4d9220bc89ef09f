// Records of TorchScript archives. LibTorch itself is not instrumented: a
// fuzzer sees which of foretell's checks an input passes, not where it goes
// behind them.

#include <caffe2/serialize/inline_container.h>
#include <torch/script.h>

#include <map>
#include <string>

#include "foretell/error.h"
#include "foretell/frontends.h"
#include "foretell/trace.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/promises.h"

namespace foretell::fuzz {
namespace {

constexpr const char* kMethod = "def forward(self, x):\n    return x + 1\n";

/// What LibTorch writes for a module with that method, by name of the record.
std::map<std::string, std::string> SoundRecords() {
  torch::jit::Module module("Net");
  module.define(kMethod);
  module.register_parameter("w", torch::ones({2, 2}), /*is_buffer=*/false);
  const ScratchFile file("sound.pt");
  module.save(file.path());
  caffe2::serialize::PyTorchStreamReader reader(file.path());
  std::map<std::string, std::string> records;
  for (const std::string& name : reader.getAllRecords()) {
    const bool is_made_anew = name == "version" || name.starts_with(".data/");
    if (is_made_anew || name.ends_with(".debug_pkl")) continue;
    const auto [data, size] = reader.getRecord(name);
    records[name].assign(static_cast<const char*>(data.get()), size);
  }
  return records;
}

/// Loads and traces the sound archive with the record whose name ends in
/// `suffix` replaced.
void LoadWith(std::string_view suffix, std::string_view bytes) {
  static const std::map<std::string, std::string> records = SoundRecords();
  static const ScratchFile file("script.pt");
  {
    caffe2::serialize::PyTorchStreamWriter writer(file.path());
    for (const auto& [name, sound] : records) {
      const std::string_view record = name.ends_with(suffix) ? bytes : sound;
      writer.writeRecord(name, record.data(), record.size());
    }
    writer.writeEndOfFile();
  }
  try {
    const Program program = LoadTorchScript(file.path());
    std::vector<BoundInput> inputs;
    for (const InputSpec& input : program.inputs()) {
      inputs.push_back({input.name, {DType::kF32, {2, 2}}});
    }
    TraceProgram(program, inputs);
  } catch (const Error& error) {
    RequireGoodMessage(error, file.path());
  }
}

constexpr Target kScriptTargets[] = {
    {"exported_graph", &ReadExportedGraph},
    {"script_code", &ReadScriptCode},
    {"script_pickle", &ReadScriptPickle},
};

}  // namespace

std::span<const Target> ScriptTargets() { return kScriptTargets; }

void ReadScriptCode(std::string_view text) { LoadWith(".py", text); }

void ReadScriptPickle(std::string_view bytes) { LoadWith("data.pkl", bytes); }

}  // namespace foretell::fuzz
