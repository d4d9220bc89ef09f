#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "foretell/dataset.h"
#include "training/samples/samples.h"

namespace foretell::training {

/// Selects the labels that the options name, except failed ones. If no
/// provenance is named: measured and imported ones, or simulated ones if there
/// are no others.
class LabelFilter {
 public:
  /// `options` must outlive the filter. Throws Error(kInvalidArgument) that
  /// lists the devices when there are several and none is named.
  LabelFilter(const SampleOptions& options, const std::vector<Label>& labels);

  bool Fits(const Label& label) const;

  /// Throws Error(kInvalidArgument): no label of the dataset at `path` matches,
  /// with its devices and sources, or the `without_graph` matching labels have
  /// no graph.
  [[noreturn]] void FailEmpty(const std::string& path,
                              std::int64_t without_graph = 0) const;

 private:
  /// True if everything except the provenance matches.
  bool FitsSoFar(const Label& label) const;

  const SampleOptions& options_;
  std::vector<Provenance> provenances_;
  std::set<std::string> devices_;
  std::set<std::string> sources_;
};

}  // namespace foretell::training
