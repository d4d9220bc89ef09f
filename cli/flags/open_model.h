#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foretell/frontends.h"
#include "foretell/program.h"

namespace foretell::cli {

/// The program that a MODEL argument names: zoo::IsNetwork, or a file's path.
/// Errors as zoo::Load and LoadModel.
Program OpenModel(const std::string& name, const LoadOptions& options = {});

/// Opens models one after another. With sandboxes it opens the next models, and
/// makes their expected traces, while an earlier one is in use.
class ModelQueue {
 public:
  ModelQueue(std::vector<std::string> names, LoadOptions options,
             std::vector<StepRequest> expected);

  /// The next program. To be called once for every name; errors as OpenModel.
  Program Next();

 private:
  std::optional<LoadingModel> Start(const std::string& name) const;

  std::vector<std::string> names_;
  LoadOptions options_;
  std::vector<StepRequest> expected_;
  std::size_t next_ = 0;
  std::size_t most_ahead_;
  /// For the next names; empty for networks of the zoo.
  std::deque<std::optional<LoadingModel>> ahead_;
};

}  // namespace foretell::cli
