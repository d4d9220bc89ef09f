#include "src/runtime/onnxruntime/optimize.h"

#include "foretell/error.h"
#include "src/runtime/onnxruntime/passes.h"

// The order in which a session transforms a graph (InferenceSession::
// TransformGraph and graph_transformer_utils.cc): level "basic" before nodes
// have providers, "extended" after. Level "all" adds changes of layout for the
// CPU only; the CUDA provider runs convolutions as they are, in NCHW, unless
// prefer_nhwc asks it for the other layout when nodes get providers.

namespace foretell::runtime {

OperatorGraph OptimizeForOnnxRuntime(const OperatorGraph& graph,
                                     const RuntimeSpec& spec) {
  if (graph.info().mode == Mode::kTraining) {
    throw Error(ErrorCode::kInvalidArgument,
                "--runtime onnxruntime: only inference is modelled");
  }
  ort::Draft draft = ort::MakeDraft(graph);
  draft.knows_sizes = spec.overrides;
  ort::KeepNodes(draft);
  ort::FuseAttention(draft, spec.level);
  ort::Decompose(draft, spec.level);
  const bool basic = spec.level >= OrtLevel::kBasic;
  ort::FoldConstants(draft, basic);
  if (basic) ort::FuseConvolutions(draft);
  ort::ChangeCasts(draft, spec.level);
  ort::PlaceNodes(draft);
  if (spec.nhwc) ort::UseNhwc(draft);
  if (spec.level >= OrtLevel::kExtended) {
    ort::FuseNorms(draft, spec.level);
    ort::FuseGelu(draft);
    ort::FuseActivations(draft);
    ort::FuseProducts(draft);
  }
  ort::DropUnused(draft);
  return ort::BuildGraph(draft, spec);
}

}  // namespace foretell::runtime
