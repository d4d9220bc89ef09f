#pragma once

#include "src/parallel/parallelize.h"

namespace foretell::parallel {

/// `graph`, which is one GPU's part under ModelPart(spec) and trains `trained`,
/// as one of spec.copies copies with a batch each; itself if there is one.
OperatorGraph ShareData(OperatorGraph graph, const ParallelSpec& spec,
                        std::span<const TrainedParameter> trained);

}  // namespace foretell::parallel
