#pragma once

#include <torch/script.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "foretell/frontends.h"
#include "foretell/trace.h"

/// TorchScript files that tests write without Python.
namespace foretell::torchscript {

/// A file in the folder for temporary files, gone with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_((std::filesystem::temp_directory_path() /
               (name + "." + std::to_string(::getpid())))
                  .string()) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

  void Write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  std::string Read() const {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

/// A module whose forward pass is `code`.
inline torch::jit::Module Script(const std::string& code) {
  torch::jit::Module module("Net");
  module.define(code + "\n");
  return module;
}

/// `module`, saved and loaded.
class SavedModule {
 public:
  explicit SavedModule(const torch::jit::Module& module) : file_("script.pt") {
    module.save(file_.path());
  }

  const TemporaryFile& file() const { return file_; }
  Program Load() const { return LoadTorchScript(file_.path()); }

  /// Traces on inputs such as "x=f32[4,16]".
  Trace Run(const std::vector<std::string>& inputs,
            const TraceOptions& options = {}) const {
    const Program program = Load();
    InputRequest request;
    for (const std::string& input : inputs) {
      request.inputs.push_back(ParseInput(input));
    }
    return TraceProgram(program,
                        BindInputs(program.inputs(), request, program.name()),
                        options);
  }

 private:
  TemporaryFile file_;
};

/// Writes the archive of a module that applies relu, each record first passed
/// to `edit` with its name: what stands in an archive need not come from
/// LibTorch's own compiler.
template <typename Edit>
void WriteEdited(const TemporaryFile& file, const Edit& edit) {
  const SavedModule saved(
      Script("def forward(self, x):\n    return torch.relu(x)"));
  caffe2::serialize::PyTorchStreamReader reader(saved.file().path());
  caffe2::serialize::PyTorchStreamWriter writer(file.path());
  for (const std::string& name : reader.getAllRecords()) {
    if (name == "version" || name.starts_with(".data/")) continue;
    const auto [data, size] = reader.getRecord(name);
    std::string record(static_cast<const char*>(data.get()), size);
    edit(name, record);
    writer.writeRecord(name, record.data(), record.size(), /*compress=*/true);
  }
  writer.writeEndOfFile();
}

/// The same with the text of its method replaced: `forward` is what comes after
/// "def forward(self, x: Tensor".
inline void WriteCode(const TemporaryFile& file, const std::string& forward) {
  WriteEdited(file, [&](const std::string& name, std::string& record) {
    if (!name.ends_with(".py")) return;
    record.resize(record.find("  def forward("));
    record += "  def forward(self: __torch__.Net, x: Tensor" + forward + "\n";
  });
}

}  // namespace foretell::torchscript
