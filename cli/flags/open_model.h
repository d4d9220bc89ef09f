#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foretell/frontends.h"
#include "foretell/program.h"

namespace foretell::cli {

/// The program that a MODEL argument names: `zoo:NAME`, or a file's path.
/// Errors as zoo::Load and LoadModel.
Program OpenModel(const std::string& name, const LoadOptions& options = {});

/// Opens models one after another: in a sandbox the next one while its
/// predecessor is in use.
class ModelQueue {
 public:
  ModelQueue(std::vector<std::string> names, LoadOptions options)
      : names_(std::move(names)), options_(std::move(options)) {}

  /// The next program. To be called once for every name; errors as OpenModel.
  Program Next();

 private:
  std::optional<LoadingModel> Start(std::size_t index) const;

  std::vector<std::string> names_;
  LoadOptions options_;
  std::size_t next_ = 0;
  std::optional<LoadingModel> ahead_;
};

}  // namespace foretell::cli
