#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// The runner of the ONNX project's backend test cases.
namespace foretell::conformance {

/// How far a floating-point output may lie from the expected one:
/// |actual - expected| <= atol + rtol * |expected|.
struct Tolerance {
  double rtol = 1e-3;  ///< Defaults of the ONNX project's own runner.
  double atol = 1e-7;
};

/// A folder with `model.onnx` and `test_data_set_<N>` folders.
struct Case {
  std::string group;  ///< Name of the folder around it, e.g. "node".
  std::string name;   ///< Name of the folder, e.g. "test_relu".
  std::filesystem::path folder;

  std::filesystem::path ModelPath() const { return folder / "model.onnx"; }
  /// `test_data_set_*`, in order of name.
  std::vector<std::filesystem::path> DataSets() const;
  /// What `data.json` says, the default where it is absent or silent. Throws
  /// Error(kCorrupt) when the file is not JSON.
  Tolerance ReadTolerance() const;
};

/// The files `<prefix>_0.pb`, `<prefix>_1.pb`, … of a data set, up to the first
/// number that is missing.
std::vector<std::filesystem::path> NumberedFiles(
    const std::filesystem::path& data_set, const std::string& prefix);

/// All cases below `root` (`root/<group>/<case>`) whose "group/name" matches
/// the regular expression `filter` somewhere; sorted by group and name. Throws
/// Error(kNotFound) when `root` is not a folder and kInvalidArgument when
/// `filter` is not a regular expression.
std::vector<Case> FindCases(const std::filesystem::path& root,
                            const std::string& filter);

}  // namespace foretell::conformance
