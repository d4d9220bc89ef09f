'use strict';

/** One answer: verdict, figures, warnings, memory, modules, kernels, slices, batches. */
function stepView(data) {
  const {result, device} = data;
  return [
    verdictSection(result.verdict),
    figuresSection(result),
    warningsList(result.warnings),
    memoryOverStep(data.memory_over_step),
    modulesSection(data.modules),
    rooflineSection(data.kernels, device),
    slicesSection(result.mig, device),
    data.batches ? batchesSection(data.batches, device) : null,
  ];
}
