#include "frontends/converted/converters.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <sstream>
#include <system_error>

#include "frontends/converted/weights_alone.h"
#include "src/core/embedded_file.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/text.h"

namespace foretell::converted {

/// Made by foretell_embed.
std::span<const EmbeddedFile> ConverterFiles();

namespace {

namespace fs = std::filesystem;

constexpr Converter kTensorFlow = {
    "tensorflow", "model.onnx",
    "figures are those of PyTorch running these operators; TensorFlow itself "
    "runs other kernels and keeps other memory",
    1700};
constexpr Converter kPaddle = {
    "paddle", "model.onnx",
    "figures are those of PyTorch running these operators; Paddle itself runs "
    "other kernels and keeps other memory",
    950};
constexpr Converter kHuggingFace = {"huggingface", "model.pt2", "", 1200,
                                    "_on_meta.py"};

/// A kind of file that is converted.
struct FileForm {
  std::string_view ending;
  std::string_view beside;  ///< Ending of the separate file of its weights.
  bool needs_it;            ///< Without that file it is something else.
  const Converter& converter;
  std::string_view format;
  FormatProblem problem;
};

constexpr FileForm kFiles[] = {
    {".keras", "", false, kTensorFlow, "Keras file", &KerasProblem},
    {".h5", "", false, kTensorFlow, "HDF5 file", &Hdf5Problem},
    {".hdf5", "", false, kTensorFlow, "HDF5 file", &Hdf5Problem},
    {".tflite", "", false, kTensorFlow, "TensorFlow Lite file", &TfLiteProblem},
    {".pdmodel", ".pdiparams", false, kPaddle, "Paddle model", &PaddleProblem},
    {".json", ".pdiparams", true, kPaddle, "Paddle model", &PaddleJsonProblem},
};

/// A folder that is a model, by a file in it.
struct FolderForm {
  std::string_view file;
  const Converter& converter;
  std::string_view format;
  FormatProblem problem;
};

constexpr FolderForm kFolders[] = {
    {"saved_model.pb", kTensorFlow, "SavedModel", &SavedModelProblem},
    {"config.json", kHuggingFace, "Hugging Face model", &ConfigProblem},
};

/// Files that select their folder, if a converter handles it.
struct PartForm {
  std::string_view ending;
  const FolderForm& folder;
};

constexpr PartForm kParts[] = {
    {"saved_model.pb", kFolders[0]},
    {"config.json", kFolders[1]},
    {".safetensors", kFolders[1]},
    {".safetensors.index.json", kFolders[1]},
};

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string Absolute(const fs::path& path) {
  std::error_code ignored;
  const fs::path absolute = fs::absolute(path, ignored).lexically_normal();
  return absolute.has_filename() ? absolute.string()
                                 : absolute.parent_path().string();
}

/// `path` with another ending.
std::string WithEnding(const std::string& path, std::string_view ending,
                       std::string_view other) {
  return path.substr(0, path.size() - ending.size()).append(other);
}

/// A file, or the file that a link of this name leads to.
sandbox::PathRule FileAt(const fs::path& path) {
  return {Absolute(path), sandbox::kReadFile, true};
}

std::optional<Conversion> OfFile(const std::string& path) {
  for (const FileForm& form : kFiles) {
    if (!path.ends_with(form.ending)) continue;
    Conversion found{&form.converter, form.format,    path,
                     form.problem,    Absolute(path), {FileAt(path)}};
    if (!form.beside.empty()) {
      const std::string weights = WithEnding(path, form.ending, form.beside);
      if (form.needs_it && !Exists(weights)) continue;
      found.reads.push_back(FileAt(weights));
    }
    return found;
  }
  return std::nullopt;
}

/// The files of a folder may be links into a cache.
Conversion Whole(const fs::path& folder, const FolderForm& form) {
  return {
      &form.converter,
      form.format,
      folder / form.file,
      form.problem,
      Absolute(folder),
      {{Absolute(folder), sandbox::kReadFolders}, FileAt(folder / form.file)}};
}

std::optional<Conversion> OfPart(const std::string& path) {
  for (const PartForm& form : kParts) {
    if (!path.ends_with(form.ending)) continue;
    const fs::path folder = fs::path(Absolute(path)).parent_path();
    if (Exists(folder / form.folder.file)) return Whole(folder, form.folder);
  }
  return std::nullopt;
}

Conversion OfFolder(const std::string& path) {
  for (const FolderForm& form : kFolders) {
    if (Exists(fs::path(path) / form.file)) return Whole(path, form);
  }
  throw Unsupported(
      "{}: is a directory with neither saved_model.pb (TensorFlow) nor "
      "config.json (Hugging Face); name the file of the model",
      path);
}

std::string BuiltIn(const std::string& name) {
  for (const EmbeddedFile& file : ConverterFiles()) {
    if (file.path.ends_with("/" + name)) return std::string(file.bytes);
  }
  throw InternalFailure("{}: is not built in", name);
}

}  // namespace

std::optional<Conversion> FindConversion(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return OfFolder(path);
  if (!Exists(path)) return std::nullopt;
  if (auto found = OfFile(path)) return found;
  if (auto found = OfPart(path)) return found;
  RefuseWeightsAlone(path);
  return std::nullopt;
}

void CheckFormat(const std::string& path, const Conversion& conversion) {
  const RegularFile file = OpenRegularFile(conversion.described_by, kAnySize);
  const std::string problem = conversion.problem(file);
  if (problem.empty()) return;
  const std::string place =
      path.ends_with(fs::path(file.path).filename().string())
          ? ""
          : fmt::format("{}: ", fs::path(file.path).filename().string());
  throw Corrupt("{}: {}is not a valid {}: {}", path, place, conversion.format,
                problem);
}

std::string ConverterFile(const Converter& converter, std::string_view suffix) {
  const std::string name = fmt::format("{}{}", converter.name, suffix);
  if (const char* folder = std::getenv("FORETELL_CONVERTERS")) {
    return ReadText(fs::path(folder) / name);
  }
  return BuiltIn(name);
}

std::string ConverterModule(const Converter& converter) {
  return BuiltIn(std::string(converter.module));
}

std::string PackagesOf(const Converter& converter) {
  std::istringstream lines(ConverterFile(converter, ".txt"));
  std::vector<std::string> packages;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find("==");
    if (line.starts_with('#') || equals == std::string::npos) continue;
    packages.push_back(
        fmt::format("{} {}", line.substr(0, equals), line.substr(equals + 2)));
  }
  return Joined(packages);
}

}  // namespace foretell::converted
