// Transformers, mixers and recurrent networks against the implementations that
// they are named after, and in training.

#include "tests/datasets/zoo/transformers_test.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "datasets/zoo/families.h"
#include "foretell/features.h"

namespace foretell {
namespace {

/// A row of reference_transformers.csv.
struct Reference {
  std::string model;
  std::int64_t batch = 0;
  std::int64_t parameters = 0;
  double macs = 0;
};

std::vector<Reference> ReadReferences() {
  const std::string path =
      FORETELL_SOURCE_DIR "/tests/datasets/zoo/reference_transformers.csv";
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);  // The header.
  std::vector<Reference> references;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) {
      cells.push_back(cell);
    }
    if (cells.size() != 7) throw std::runtime_error(path + ": " + line);
    references.push_back({cells[0], std::stoll(cells[4]), std::stoll(cells[5]),
                          std::stod(cells[6])});
  }
  return references;
}

/// A family, what makes its networks small, and how many stock networks of it
/// the table of references has.
struct Row {
  const zoo::Family* family;
  const char* small;
  std::size_t references;
};

const std::array<Row, 18>& Rows() {
  static const std::array<Row, 18> kRows = {{
      {&zoo::kVit, "image_size=224", 9},
      {&zoo::kSwin, "image_size=56", 4},
      {&zoo::kVisformer, "image_size=32", 2},
      {&zoo::kPoolFormer, "image_size=64", 5},
      {&zoo::kMixer, "image_size=32", 2},
      {&zoo::kMlp, "", 0},
      {&zoo::kBert, "seq=8", 2},
      {&zoo::kGpt, "seq=8", 2},
      {&zoo::kT5, "seq=8", 2},
      {&zoo::kDeberta, "seq=8", 1},
      {&zoo::kRnn, "seq=4", 0},
      {&zoo::kLlama, "seq=8", 24},
      {&zoo::kClip, "", 2},
      {&zoo::kSam, "image_size=256", 3},
      {&zoo::kDiffusionUNet, "image_size=8", 3},
      {&zoo::kVaeDecoder, "image_size=8", 1},
      {&zoo::kVaeEncoder, "image_size=64", 1},
      {&zoo::kWhisper, "frames=40", 3},
  }};
  return kRows;
}

TEST(TransformerReference, ListsEveryStockNetworkWithAnImplementation) {
  std::set<std::string, std::less<>> listed;
  for (const Reference& reference : ReadReferences()) {
    listed.insert(reference.model);
  }
  std::size_t expected = 0;
  for (const Row& row : Rows()) {
    expected += row.references;
    if (row.references == 0) continue;
    EXPECT_EQ(row.family->variants.size(), row.references) << row.family->name;
    for (const zoo::Variant& variant : row.family->variants) {
      EXPECT_TRUE(listed.contains(variant.name)) << variant.name;
    }
  }
  EXPECT_EQ(listed.size(), expected);
}

TEST(TransformerReference, HasTheSameParametersAndMacs) {
  for (const Reference& reference : ReadReferences()) {
    SCOPED_TRACE(reference.model);
    EXPECT_EQ(zoo::Load(reference.model).parameter_elements(),
              reference.parameters);
    const Trace trace = TraceZoo(reference.model, reference.batch);
    EXPECT_NEAR(static_cast<double>(CountStaticFeatures(trace.graph).macs),
                reference.macs, 1e-3 * reference.macs);
    EXPECT_TRUE(trace.warnings.empty());
  }
}

/// Bytes of all gradients of parameters.
std::int64_t GradientBytes(const OperatorGraph& graph) {
  std::int64_t bytes = 0;
  for (const Storage& storage : graph.storages()) {
    if (storage.role == TensorRole::kGradient) bytes += storage.bytes;
  }
  return bytes;
}

TEST(TransformerTraining, AdaptsLayersWithoutABias) {
  for (const LoraSpec& spec :
       {LoraSpec{.rank = 4, .targets = "q_proj"},
        LoraSpec{.rank = 4, .targets = "q_proj", .dora = true}}) {
    const Trace trace =
        TraceZoo("smollm2_135m?seq=8", 1,
                 {.run = {.mode = Mode::kTraining}, .loop = {.lora = spec}});
    EXPECT_GT(GradientBytes(trace.graph), 0);
    EXPECT_LT(GradientBytes(trace.graph), trace.graph.ParameterElements());
  }
}

TEST(TransformerTraining, GivesEveryParameterOfEveryStockNetworkAGradient) {
  for (const Row& row : Rows()) {
    for (const zoo::Variant& variant : row.family->variants) {
      std::string name(variant.name);
      if (*row.small != '\0') name.append("?").append(row.small);
      SCOPED_TRACE(name);
      const Trace trace = TraceZoo(name, 2, {.run = {.mode = Mode::kTraining}});
      EXPECT_TRUE(trace.warnings.empty())
          << (trace.warnings.empty() ? "" : trace.warnings.front());
      EXPECT_GE(GradientBytes(trace.graph),
                4 * zoo::Load(name).parameter_elements());
    }
  }
}

TEST(TransformerTraining, RunsInHalfPrecision) {
  for (const char* name :
       {"t5_small?seq=8&depth=2", "deberta?seq=8&depth=2", "gpt2?seq=8&depth=2",
        "swin?image_size=56", "lstm_medium?seq=4"}) {
    SCOPED_TRACE(name);
    const Trace trace = TraceZoo(
        name, 2,
        {.run = {.mode = Mode::kTraining, .precision = Precision::kFp16}});
    for (const TraceOutput& output : trace.outputs) {
      EXPECT_EQ(output.type.dtype, DType::kF16);
    }
  }
}

TEST(T5, CountsItsSharedEmbeddingOnce) {
  const Program program = zoo::Load("t5_small?depth=1");
  const auto instance = program.Instantiate({});
  std::int64_t elements = 0;
  int embeddings = 0;
  for (const NamedTensor& parameter : instance->Parameters()) {
    elements += parameter.tensor.numel();
    if (parameter.tensor.size(0) == 32128) ++embeddings;
  }
  EXPECT_EQ(embeddings, 1);
  EXPECT_EQ(elements, program.parameter_elements());
  // Embedding, distances, four square projections of 512, the two products of
  // the feed-forward part, three norms.
  EXPECT_EQ(elements,
            32128 * 512 + 32 * 8 + 4 * 512 * 512 + 2 * 512 * 2048 + 3 * 512);
}

TEST(Vit, DinoHasScalesAndNoClasses) {
  // Of blocks of 768: norms, query, key and value, output, feed-forward part,
  // and 2·768 scales; 37·37 patches and a class token with positions.
  const std::int64_t block =
      4 * 768 + 4 * (768 * 768 + 768) + 2 * 4 * 768 * 768 + 5 * 768 + 2 * 768;
  const std::int64_t embedding = 3 * 14 * 14 * 768 + 768 + 768 + 1370 * 768;
  EXPECT_EQ(zoo::Load("vit_base_patch14_dinov2").parameter_elements(),
            embedding + 12 * block + 2 * 768);
  // transformers' Dinov2Model has a token for masks, too: 86,580,480.
  EXPECT_EQ(embedding + 12 * block + 2 * 768, 86'580'480 - 768);
  const Trace trace = TraceZoo("vit_base_patch14_dinov2?image_size=28", 2);
  EXPECT_EQ(trace.outputs.front().type.shape,
            (std::vector<std::int64_t>{2, 768}));
}

// On the meta device, by scripts/generate/make_diffusion_golden.py.
TEST(DiffusionTransformers, HaveTheParametersOfDiffusers) {
  std::ifstream file(FORETELL_SOURCE_DIR
                     "/tests/golden/diffusion/parameters.csv");
  std::string line;
  std::getline(file, line);  // The header.
  std::set<std::string, std::less<>> seen;
  while (std::getline(file, line)) {
    const std::string name = line.substr(0, line.find(','));
    EXPECT_EQ(zoo::Load(name).parameter_elements(),
              std::stoll(line.substr(name.size() + 1)))
        << name;
    seen.insert(name);
  }
  for (const zoo::Family* family :
       {&zoo::kFlux, &zoo::kFlux2, &zoo::kSd3, &zoo::kWan}) {
    for (const zoo::Variant& variant : family->variants) {
      EXPECT_TRUE(seen.contains(variant.name)) << variant.name;
    }
  }
}

TEST(DiffusionTransformers, ReturnWhatTheyDenoise) {
  const struct {
    const char* network;
    std::vector<std::int64_t> shape;
  } rows[] = {
      {"flux?depth=1&single_depth=1&heads=2&head_width=16&text_width=32&"
       "image_size=4&seq=5",
       {3, 16, 64}},
      {"flux2?depth=1&single_depth=1&heads=2&head_width=16&text_width=32&"
       "image_size=4&seq=5",
       {3, 16, 128}},
      {"sd3?depth=2&heads=2&head_width=16&text_width=32&image_size=8&seq=5",
       {3, 16, 8, 8}},
      {"wan?depth=1&heads=2&head_width=16&text_width=32&frames=3&height=4&"
       "width=6&seq=5",
       {3, 16, 3, 4, 6}},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(TraceZoo(row.network, 3).outputs.front().type.shape, row.shape)
        << row.network;
  }
}

/// Paths of the layers that get adapters.
std::set<std::string> Adapted(const std::string& network,
                              const std::string& targets) {
  const Trace trace =
      TraceZoo(network, 1,
               {.run = {.mode = Mode::kTraining},
                .loop = {.lora = {.rank = 4, .targets = targets}}});
  std::set<std::string> paths;
  for (const Value& value : trace.graph.values()) {
    const std::size_t end = value.name.find(".lora_A");
    if (end != std::string::npos) paths.insert(value.name.substr(0, end));
  }
  return paths;
}

// The targets of diffusers' train_dreambooth_lora_flux.py and …_sd3.py.
TEST(DiffusionTransformers, HaveTheLayerNamesOfDiffusers) {
  constexpr char kTargets[] =
      "attn.add_[qkv]_proj|attn.to_add_out|attn.to_[qkv]|attn.to_out.0|"
      "ff.net.0.proj|ff.net.2|ff_context.net.0.proj|ff_context.net.2";
  EXPECT_EQ(Adapted("flux?depth=1&single_depth=0&heads=2&head_width=16&"
                    "image_size=4&seq=5",
                    kTargets)
                .size(),
            12u);
  // The last block's text is read only.
  EXPECT_EQ(
      Adapted("sd3?depth=2&heads=2&head_width=16&image_size=8&seq=5", kTargets)
          .size(),
      12u + 9u);
  EXPECT_EQ(Adapted("wan?depth=1&heads=2&head_width=16&frames=1&height=4&"
                    "width=4&seq=5",
                    "attn[12].to_[qkv]|attn[12].to_out.0|ffn.net.0.proj")
                .size(),
            9u);
}

TEST(Mlp, MatchesAHandCount) {
  // 4 → 8 → 3 with biases, and two vectors of 8 of the norm.
  const std::string name = "mlp?inputs=4&hidden=8&outputs=3&batch_norm=true";
  EXPECT_EQ(zoo::Load(name).parameter_elements(),
            (4 * 8 + 8) + (8 * 3 + 3) + 2 * 8);
  const Trace trace = TraceZoo(name, 5);
  EXPECT_EQ(CountStaticFeatures(trace.graph).macs, 5 * (4 * 8 + 8 * 3));
}

TEST(Rnn, MatchesAHandCount) {
  // An LSTM of 3 → 2 has four gates, each [2, 3 + 2] with two biases of 2; both
  // directions; then 4 → 7.
  const std::string name =
      "rnn?layers=1&inputs=3&hidden=2&bidirectional=true&vocabulary=0&"
      "classes=7&seq=6";
  EXPECT_EQ(zoo::Load(name).parameter_elements(),
            2 * 4 * (2 * 5 + 2 * 2) + (4 * 7 + 7));
  const Trace trace = TraceZoo(name, 3);
  EXPECT_EQ(CountStaticFeatures(trace.graph).macs,
            3 * 6 * 2 * 4 * 2 * 5 + 3 * 4 * 7);
  EXPECT_EQ(trace.outputs.front().type.shape,
            (std::vector<std::int64_t>{3, 7}));
}

TEST(Rnn, GruHasThreeQuartersOfTheGates) {
  const std::string changes =
      "?layers=1&inputs=3&hidden=2&vocabulary=0&"
      "classes=7&cell=";
  const std::int64_t head = 2 * 7 + 7;
  const std::int64_t lstm =
      zoo::Load("rnn" + changes + "lstm").parameter_elements() - head;
  const std::int64_t gru =
      zoo::Load("rnn" + changes + "gru").parameter_elements() - head;
  EXPECT_EQ(4 * gru, 3 * lstm);
}

}  // namespace
}  // namespace foretell
