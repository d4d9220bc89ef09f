#pragma once

#include <memory>
#include <string>

#include "foretell/device.h"
#include "training/samples/feature_store.h"
#include "training/samples/sample_request.h"
#include "training/samples/samples.h"

namespace foretell::training {

/// Samples with all that belongs to them. Can be moved, but not copied.
struct OpenedSamples {
  DeviceCatalog catalog;  ///< Built-in devices and those of device files.
  SampleSet set;
  std::unique_ptr<FeatureStore> store;

  /// The device of all labels, if it is one and the catalogue has it.
  const DeviceSpec* OnlyDevice() const;
};

/// Opens the dataset and selects samples; a recipe without context model gets
/// the catalogue's default. Makes the process keep freed memory, and sets its
/// number of threads if the request gives one.
///
/// Throws Error as SelectSamples, Dataset::Open and DeviceCatalog::AddDevice.
OpenedSamples OpenSamples(const SampleRequest& request);

/// "split s, part test", or "all samples" for kNoSplit.
std::string SelectionText(const std::string& split, const std::string& part);

}  // namespace foretell::training
