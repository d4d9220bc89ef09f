#include "training/samples/label_filter.h"

#include <algorithm>

#include "src/core/failure.h"
#include "src/core/text.h"

namespace foretell::training {
namespace {

std::string Listed(const std::set<std::string>& names) {
  return names.empty() ? "none" : Joined(names);
}

template <typename Value>
bool NamesIt(const std::vector<Value>& names, const Value& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

}  // namespace

LabelFilter::LabelFilter(const SampleOptions& options,
                         const std::vector<Label>& labels)
    : options_(options), provenances_(options.provenances) {
  bool real = false;
  for (const Label& label : labels) {
    devices_.insert(label.device);
    sources_.insert(label.source);
    real = real ||
           (FitsSoFar(label) && label.provenance != Provenance::kSimulated);
  }
  if (options.devices.empty() && !options.all_devices && devices_.size() > 1) {
    throw InvalidArgument(
        "labels are from several devices; name one with --device, or use all: "
        "{}",
        Listed(devices_));
  }
  if (!provenances_.empty()) return;
  provenances_ = {Provenance::kMeasured, Provenance::kImported};
  if (!real) provenances_ = {Provenance::kSimulated};
}

bool LabelFilter::Fits(const Label& label) const {
  return FitsSoFar(label) && NamesIt(provenances_, label.provenance);
}

void LabelFilter::FailEmpty(const std::string& path,
                            std::int64_t without_graph) const {
  if (without_graph > 0) {
    throw InvalidArgument(
        "{}: no graph of the {} that match; add graphs of the labels' runs "
        "with foretell dataset trace",
        path, Counted(without_graph, "label"));
  }
  throw InvalidArgument("{}: no label matches; devices: {}; sources: {}", path,
                        Listed(devices_), Listed(sources_));
}

bool LabelFilter::FitsSoFar(const Label& label) const {
  return label.status != LabelStatus::kFailed &&
         NamesIt(options_.devices, label.device) &&
         NamesIt(options_.sources, label.source);
}

}  // namespace foretell::training
