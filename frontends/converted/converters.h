#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/converted/check_format.h"
#include "src/sandbox/paths.h"

namespace foretell::converted {

/// A Python program that converts a file of another framework to one that
/// foretell reads. It has an environment of its own.
struct Converter {
  /// Name of its files in python/converters, and of its environment.
  std::string_view name;
  std::string_view result;   ///< Name of the file that it writes.
  std::string_view meaning;  ///< Note on the meaning of figures of its result.
  std::int64_t mib = 0;      ///< Size of its environment on disk.
  /// File of the Python package that its program reads from the same folder;
  /// empty: none.
  std::string_view module = {};
};

/// A model that has to be converted.
struct Conversion {
  const Converter* converter = nullptr;
  std::string_view format;   ///< "Keras file".
  std::string described_by;  ///< Its file that determines the format.
  FormatProblem problem = nullptr;
  std::string model;  ///< File or folder passed to the converter; absolute.
  /// All user files that it may read, including the model.
  std::vector<sandbox::PathRule> reads;
};

/// How to convert `path`, by its extension, the files next to it, and the
/// content of a folder; empty for anything else, which foretell reads or
/// refuses itself. A file in a folder that is a model as a whole selects the
/// folder. Opens nothing.
///
/// Throws Error(kUnsupported) for a recognized form that cannot be converted: a
/// folder without a model, weights without a graph (see weights_alone.h).
std::optional<Conversion> FindConversion(const std::string& path);

/// Throws Error(kCorrupt) that begins with `path` if the model cannot be of its
/// format.
void CheckFormat(const std::string& path, const Conversion& conversion);

/// The text of a converter's file: `suffix` is ".py", its program, or ".txt",
/// the requirements of its environment. From the folder $FORETELL_CONVERTERS
/// if that is set, else as built in. Throws what ReadText does.
std::string ConverterFile(const Converter& converter, std::string_view suffix);

/// The text of its module, as built in.
std::string ConverterModule(const Converter& converter);

/// Its requirements as words for people: "tensorflow-cpu 2.21.0, tf2onnx
/// 1.17.0".
std::string PackagesOf(const Converter& converter);

}  // namespace foretell::converted
