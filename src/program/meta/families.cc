#include "src/program/meta/families.h"

namespace foretell::meta {

std::vector<Family> AllFamilies() {
  return {{"activation", ActivationKernels()},
          {"attention", AttentionKernels()},
          {"convolution", ConvolutionKernels()},
          {"data_dependent", DataDependentKernels()},
          {"detection", DetectionKernels()},
          {"dropout", DropoutKernels()},
          {"embedding", EmbeddingKernels()},
          {"fft", FftKernels()},
          {"flex", FlexKernels()},
          {"indexing", IndexingKernels()},
          {"liger", LigerKernels()},
          {"linalg", LinalgKernels()},
          {"loss", LossKernels()},
          {"multi_head", MultiHeadKernels()},
          {"mx", MxKernels()},
          {"normalization", NormalizationKernels()},
          {"optimizer", OptimizerKernels()},
          {"padding", PaddingKernels()},
          {"pointwise", PointwiseKernels()},
          {"pooling", PoolingKernels()},
          {"quantization", QuantizationKernels()},
          {"quantized", QuantizedKernels()},
          {"random", RandomKernels()},
          {"recurrent", RecurrentKernels()},
          {"reduction", ReductionKernels()},
          {"resampling", ResamplingKernels()},
          {"softmax", SoftmaxKernels()},
          {"transformer_engine", TransformerEngineKernels()}};
}

std::vector<LibrarySchemas> AllLibrarySchemas() {
  std::vector<LibrarySchemas> all;
  for (const auto& some :
       {DetectionSchemas(), FlexSchemas(), LigerSchemas(), MxSchemas(),
        QuantizedSchemas(), TransformerEngineSchemas()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace foretell::meta
