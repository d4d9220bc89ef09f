#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foretell/run.h"
#include "src/classify/memory_classes.h"
#include "src/classify/step_inputs.h"

namespace foretell::classify {

/// A row of a table of measured steps: which network is run how, and what its
/// process held.
struct MeasuredStep {
  std::string model;  ///< A file, or a network of the zoo.
  std::string input;  ///< As for `--input`; empty: the file states it.
  std::int64_t batch = 1;
  Optimizer optimizer = Optimizer::kSgd;
  /// Samples of a forward pass that the process ran before; 0: none.
  std::int64_t pass_before = 0;
  LabelledStep step;  ///< Without its inputs.
};

/// Reads a CSV table with the columns name, set, model, input, batch, optimizer
/// and memory_mib (empty: out of memory), and pass_before where it has one.
/// Throws what ForEachCsvRow throws, and Error that names path, line, column
/// and value: kInvalidArgument for a cell that does not fit its column, a
/// column that is missing, and a table without rows.
std::vector<MeasuredStep> ReadMeasuredSteps(const std::string& path);

/// Throws Error(kInvalidArgument) that names `origin` where the memory of all
/// steps is in one class: nothing can be learned from them.
void RequireSeveralClasses(const std::vector<LabelledStep>& steps,
                           const MemoryClasses& classes,
                           const std::string& origin);

}  // namespace foretell::classify
