#pragma once

#include "foretell/adaptation.h"
#include "foretell/predictor.h"

namespace foretell {

/// Refuses an adaptation that was fitted elsewhere: Error(kInvalidArgument)
/// names its origin, what differs and both values. The context matters where
/// memory was adapted, the optimizer in training, the host where it has a name.
void CheckAdaptation(const Adaptation& adaptation, const DeviceSpec& device,
                     const ContextModel& context, const Run& run,
                     const HostSpec& host);

/// Error(kInvalidArgument) that begins with `origin` where `run` is not `mine`;
/// the optimizer matters in training.
void RequireSameRun(const std::string& origin, const Run& mine, const Run& run);

/// The host of predictions that are adapted: the adaptation's, or the `asked`
/// one where neither latency nor energy was adapted.
const HostSpec& HostOf(const Adaptation& adaptation, const HostSpec& asked);

/// Corrects the figures of `prediction`, of a network of `macs` MACs, and their
/// sources and intervals. The host factor and the context's constant are in its
/// estimate already. Slices keep their ratios to the whole device. Energy
/// follows the latency unless it was learned.
void ApplyAdaptation(const Adaptation& adaptation, double macs,
                     Prediction& prediction);

}  // namespace foretell
