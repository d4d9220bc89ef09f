// Networks by a config.json, by hand-written files and by the shipped table.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <string_view>

#include "foretell/zoo.h"
#include "tests/datasets/scratch.h"
#include "tests/datasets/zoo/transformers_test.h"
#include "tests/graph/expect_error.h"

namespace foretell::zoo {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A config.json in a folder of its own.
class HubFile {
 public:
  explicit HubFile(const std::string& text) { std::ofstream(path()) << text; }
  std::string path() const { return scratch_ / "config.json"; }
  Program Open(const std::string& changes = "") const {
    return Load(path() + changes);
  }
  std::int64_t Parameters() const { return Open().parameter_elements(); }
  std::vector<std::string> Warnings() const {
    return Open().warnings(Mode::kInference);
  }

 private:
  dataset_test::Scratch scratch_;
};

/// A small decoder with `rest` after its sizes.
std::string Decoder(const std::string& type, const std::string& rest = "") {
  return R"({"hidden_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2,
             "intermediate_size": 128, "vocab_size": 100, "model_type": ")" +
         type + "\"" + rest + "}";
}

/// Of the decoder: two embeddings, the last norm, and in each layer the query
/// and output products, those of half as many keys and values, three of the
/// feed-forward part, and two norms.
constexpr std::int64_t kDecoderParameters =
    2 * 100 * 64 + 64 + 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64);

TEST(HubConfig, HasTheParametersCountedByHand) {
  EXPECT_EQ(kDecoderParameters, 86'848);
  EXPECT_EQ(HubFile(Decoder("llama")).Parameters(), kDecoderParameters);
  EXPECT_EQ(HubFile(Decoder("mistral")).Parameters(), kDecoderParameters);
  EXPECT_EQ(HubFile(Decoder("llama", R"(, "tie_word_embeddings": true)"))
                .Parameters(),
            kDecoderParameters - 100 * 64);
  EXPECT_EQ(HubFile(Decoder("qwen2")).Parameters(),
            kDecoderParameters + 2 * (64 + 2 * 32));
  EXPECT_EQ(HubFile(Decoder("qwen3", R"(, "head_dim": 16)")).Parameters(),
            kDecoderParameters + 2 * 2 * 16);
}

TEST(HubConfig, CountsEncodersAndGpt2ByHand) {
  EXPECT_EQ(HubFile(R"({"model_type": "gpt2", "n_embd": 32, "n_layer": 1,
                        "n_head": 4, "vocab_size": 50, "n_positions": 16})")
                .Parameters(),
            (50 + 16) * 32 + 3 * 64 + (32 * 96 + 96) + (32 * 32 + 32) +
                (32 * 128 + 128) + (128 * 32 + 32));
  EXPECT_EQ(HubFile(R"({"model_type": "roberta", "hidden_size": 32,
                        "num_hidden_layers": 1, "num_attention_heads": 4,
                        "intermediate_size": 64, "vocab_size": 50,
                        "max_position_embeddings": 20, "type_vocab_size": 1})")
                .Parameters(),
            (50 + 20 + 1) * 32 + 3 * 64 + 5 * (32 * 32 + 32) + (32 * 64 + 64) +
                (64 * 32 + 32));
}

TEST(HubConfig, TakesTheDefaultsOfTransformersForMissingKeys) {
  EXPECT_EQ(HubFile(R"({"model_type": "llama"})").Parameters(),
            Load("llama2_7b").parameter_elements());
  EXPECT_EQ(HubFile(R"({"model_type": "mistral"})").Parameters(),
            Load("mistral_7b").parameter_elements());
  EXPECT_EQ(HubFile(R"({"model_type": "bert"})").Parameters(),
            Load("bert_base").parameter_elements());
  const HubFile file(R"({"model_type": "llama", "num_key_value_heads": null})");
  EXPECT_THAT(Describe(file.path()).json, HasSubstr("\"kv_heads\": 32"));
  EXPECT_THAT(Describe(file.path()).json, HasSubstr("\"positions\": 2048"));
}

TEST(HubConfig, TakesRotaryBasesOfLongContexts) {
  EXPECT_EQ(
      HubFile(Decoder("llama", R"(, "rope_theta": 5000000.0)")).Parameters(),
      kDecoderParameters);
}

TEST(HubConfig, TakesChangesAsOtherNetworksDo) {
  const HubFile file(Decoder("llama", R"(, "max_position_embeddings": 16)"));
  EXPECT_EQ((*file.Open().inputs()[0].dims)[1].value, 16);
  EXPECT_EQ(file.Open("?seq=16").name(), file.path());
  EXPECT_EQ(file.Open("?seq=8").name(), file.path() + "?seq=8");
  EXPECT_EQ((*file.Open("?seq=8").inputs()[0].dims)[1].value, 8);
}

TEST(HubConfig, Gpt2WithItsHeadGivesLogitsAndALoss) {
  const std::string head = R"(, "architectures": ["GPT2LMHeadModel"])";
  for (const std::string& rest : {head, std::string()}) {
    const HubFile file(R"({"model_type": "gpt2", "n_embd": 32, "n_layer": 1,
                           "n_head": 4, "vocab_size": 50)" +
                       rest + "}");
    EXPECT_THAT(Describe(file.path()).json, HasSubstr("\"lm_head\": true"));
  }
  EXPECT_EQ(TraceZoo("gpt2?depth=1&lm_head=true&seq=8", 2).graph.ForwardMacs(),
            TraceZoo("gpt2?depth=1&seq=8", 2).graph.ForwardMacs() +
                2 * 8 * 768 * 50257);
}

TEST(HubConfig, WarnsOfWhatIsNotPredicted) {
  EXPECT_THAT(HubFile(R"({"model_type": "bert"})").Warnings(), IsEmpty());
  EXPECT_THAT(
      HubFile(R"({"model_type": "bert", "architectures": ["BertForMaskedLM"]})")
          .Warnings(),
      ElementsAre(HasSubstr(
          "architectures is BertForMaskedLM, predicted as BertModel")));
  EXPECT_THAT(
      HubFile(Decoder("llama", R"(, "quantization_config": {"bits": 4})"))
          .Warnings(),
      ElementsAre(HasSubstr("quantization_config is of no quant_method")));
  EXPECT_THAT(
      HubFile(Decoder("mistral", R"(, "sliding_window": null)")).Warnings(),
      IsEmpty());
}

/// What a decoder's quantization_config warns of.
std::string WarningOfQuantization(const std::string& keys) {
  const std::vector<std::string> all =
      HubFile(Decoder("llama", R"(, "quantization_config": {)" + keys + "}"))
          .Warnings();
  return all.size() == 1 ? all.front() : "";
}

TEST(HubConfig, NamesTheFlagThatPredictsQuantizedWeights) {
  EXPECT_THAT(WarningOfQuantization(
                  R"("quant_method": "bitsandbytes", "load_in_4bit": true,
             "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true)"),
              HasSubstr("--quantize nf4,double"));
  EXPECT_THAT(WarningOfQuantization(
                  R"("quant_method": "bitsandbytes", "load_in_8bit": true)"),
              HasSubstr("--quantize int8"));
  EXPECT_THAT(WarningOfQuantization(
                  R"("quant_method": "gptq", "bits": 8, "group_size": 32)"),
              HasSubstr("--quantize gptq:8,group=32"));
  EXPECT_THAT(WarningOfQuantization(R"("quant_method": "awq")"),
              HasSubstr("--quantize awq:4,group=128"));
  EXPECT_THAT(WarningOfQuantization(R"("quant_method": "fp8")"),
              HasSubstr("--quantize fp8"));
  EXPECT_THAT(
      WarningOfQuantization(
          R"("quant_method": "compressed-tensors", "config_groups": {"group_0":
             {"weights": {"num_bits": 8, "type": "float"}}})"),
      HasSubstr("--quantize fp8"));
  EXPECT_THAT(WarningOfQuantization(R"("quant_method": "mxfp4")"),
              HasSubstr("training holds these weights"));
  EXPECT_THAT(WarningOfQuantization(R"("quant_method": "aqlm")"),
              HasSubstr("is aqlm, predicted in 16 bits"));
}

TEST(HubConfig, ReadsTheKindsOfLayersAsAPeriod) {
  const auto pattern = [](const std::string& kinds) {
    return Describe(
               HubFile(Decoder("olmo3", ", \"layer_types\": [" + kinds + "]"))
                   .path())
        .json;
  };
  const std::string window = R"("sliding_attention")";
  const std::string full = R"("full_attention")";
  EXPECT_THAT(pattern(window + "," + full),
              HasSubstr(R"("window_pattern": 2)"));
  EXPECT_THAT(pattern(window + "," + window),
              HasSubstr(R"("window_pattern": 0)"));
  EXPECT_THAT(pattern(full + "," + full), HasSubstr(R"("window_pattern": 1)"));
  ExpectError([&] { pattern(full + "," + window); }, ErrorCode::kCorrupt,
              "layer_types");
}

// tests/datasets/zoo/reference_towers.json has what transformers counts.
TEST(HubConfig, HoldsTheTowersOfVisionLanguageModels) {
  std::ifstream file(FORETELL_SOURCE_DIR
                     "/tests/datasets/zoo/reference_towers.json");
  const nlohmann::json reference = nlohmann::json::parse(file);
  EXPECT_GE(reference.at("rows").size(), 12u);
  for (const nlohmann::json& row : reference.at("rows")) {
    SCOPED_TRACE(row.dump());
    const HubFile config(row.at("config").dump());
    EXPECT_EQ(config.Parameters(), row.at("parameters"));
    EXPECT_THAT(config.Warnings(),
                Contains(HasSubstr("images are not predicted")));
  }
}

// Qwen2VLTextConfig of transformers 4.57.6 has other defaults than Qwen2Config.
TEST(HubConfig, HasTheDefaultsOfDecodersOfVisionLanguageModels) {
  const std::string fields =
      Describe(HubFile(R"({"model_type": "qwen2_vl_text"})").path()).json;
  EXPECT_THAT(fields, HasSubstr(R"("width": 8192)"));
  EXPECT_THAT(fields, HasSubstr(R"("depth": 80)"));
  EXPECT_THAT(fields, HasSubstr(R"("inner": 29568)"));
}

TEST(HubConfig, HintsAtThePublishedTypeUnlessOneIsChosen) {
  const HubFile file(Decoder("llama", R"(, "torch_dtype": "bfloat16")"));
  TraceOptions options{.chose_precision = false};
  EXPECT_THAT(TraceZoo(file.path(), 1, options).warnings,
              ElementsAre(HasSubstr("published in bf16: --precision bf16")));
  options.run.precision = Precision::kBf16;
  EXPECT_THAT(TraceZoo(file.path(), 1, options).warnings, IsEmpty());
  EXPECT_THAT(TraceZoo(file.path(), 1).warnings, IsEmpty());
}

TEST(HubConfig, RefusesWhatNoFamilyExpresses) {
  const std::pair<std::string, std::string> kCases[] = {
      {R"({"model_type": "mamba"})",
       "model_type is \"mamba\", and the zoo has llama, mistral, qwen2"},
      {R"({"architectures": ["LlamaForCausalLM"]})", "model_type is missing"},
      {"[]", "model_type is missing"},
      {R"({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}
       )",
       "T5ForConditionalGeneration, and the zoo's 't5' has T5EncoderModel"},
      {R"({"model_type": "gpt2", "activation_function": "relu"})",
       "activation_function is relu, and the zoo's 'gpt' has gelu_new only"},
      {R"({"model_type": "gpt2", "n_inner": 100})", "n_inner is 100"},
      {R"({"model_type": "falcon", "new_decoder_architecture": true})",
       "and the zoo's 'llama' has"},
  };
  for (const auto& [text, part] : kCases) {
    const HubFile file(text);
    EXPECT_FALSE(IsNetwork(file.path())) << text;
    EXPECT_THAT(WhyNoNetwork(file.path()), HasSubstr(part));
    ExpectError([&] { file.Open(); }, ErrorCode::kUnsupported, part);
  }
}

TEST(HubConfig, RefusesHostileFilesWithOneError) {
  const std::pair<std::string, std::string> kCases[] = {
      {std::string(100'000, '['), "nested deeper than 16 levels"},
      {R"({"model_type": "llama", "model_type": "bert"})", "given twice"},
      {R"({"model_type": "llama")", "line 1"},
      {R"({"model_type": "llama", "hidden_size": 1e300})", "hidden_size is"},
      {R"({"model_type": "llama", "hidden_size": -4})", "hidden_size is -4"},
      {R"({"model_type": "llama", "hidden_size": "4096"})",
       "hidden_size is \"4096\", expected a value like 4096"},
      {R"({"model_type": "llama", "hidden_size": {"a": 1}})", "hidden_size is"},
      {R"({"model_type": "llama", "hidden_size": [[1]]})", "hidden_size is"},
      {R"({"model_type": "llama", "tie_word_embeddings": 1})",
       "tie_word_embeddings is 1, expected a value like false"},
      {R"({"model_type": "llama", "num_hidden_layers": 1000000})",
       "num_hidden_layers is 1000000, expected at most 1000"},
      {R"({"model_type": "llama", "hidden_act": ")" + std::string(1000, 'x') +
           "\"}",
       "hidden_act is"},
      {R"({"model_type": "llama", "hidden_act": "\u001b[2J"})",
       "hidden_act is \"\\u001b[2J\""},
      {R"({"model_type": "llava", "text_config": 5})",
       "text_config is 5, expected an object"},
      {R"({"model_type": "llava", "text_config": {}, "vision_config": [1]})",
       "vision_config is [1], expected an object"},
      {R"({"model_type": "llava", "vision_config": {"patch_size": 0}})",
       "patch_size is 0, expected an integer from 1 to 1024"},
      {R"({"model_type": "llava", "vision_config": {"hidden_size": 1000000}})",
       "hidden_size is 1000000, expected an integer from 1 to 32768"},
      {R"({"model_type": "gemma3", "vision_config": {"vision_use_head": 1}})",
       "vision_use_head is 1, expected true or false"},
  };
  for (const auto& [text, part] : kCases) {
    const HubFile file(text);
    EXPECT_TRUE(IsNetwork(file.path())) << part;
    ExpectError([&] { file.Open(); }, ErrorCode::kCorrupt, part);
    ExpectError([&] { file.Open(); }, ErrorCode::kCorrupt, file.path() + ": ");
  }
  ExpectError(
      [] {
        HubFile(R"({"model_type": "llama", "num_attention_heads": 0})").Open();
      },
      ErrorCode::kInvalidArgument, "is not a multiple of heads=0");
}

TEST(HubConfig, IsFoundByItsFolderAndTheWeightsBesideIt) {
  const HubFile file(Decoder("llama"));
  const std::string folder = file.path().substr(0, file.path().rfind('/'));
  std::ofstream(folder + "/model.safetensors") << "never read";
  for (const std::string& name :
       {folder, folder + "/", file.path(), folder + "/model.safetensors"}) {
    EXPECT_TRUE(IsNetwork(name)) << name;
    EXPECT_EQ(Load(name).parameter_elements(), kDecoderParameters) << name;
    EXPECT_TRUE(IsNetwork(name + "?seq=8")) << name;
  }
  std::ofstream(folder + "/saved_model.pb") << "TensorFlow";
  EXPECT_FALSE(IsNetwork(folder));
}

TEST(HubConfig, IsNoFileWhereTheNameHasThePrefix) {
  const HubFile file(Decoder("llama"));
  ExpectError([&] { Load("zoo:" + file.path()); }, ErrorCode::kNotFound,
              "no such network");
}

TEST(HubModels, EqualTheStockNetworksOfTheSameName) {
  const std::pair<const char*, const char*> kPairs[] = {
      {"meta-llama/Llama-2-7b-hf", "llama2_7b"},
      {"meta-llama/Llama-2-13b-hf", "llama2_13b"},
      {"meta-llama/Meta-Llama-3-8B", "llama3_8b"},
      {"meta-llama/Llama-3.2-1B", "llama3_2_1b"},
      {"mistralai/Mistral-7B-v0.1", "mistral_7b"},
      {"Qwen/Qwen2-0.5B-Instruct", "qwen2_0_5b"},
      {"Qwen/Qwen2-7B-Instruct", "qwen2_7b"},
      {"Qwen/Qwen3-8B", "qwen3_8b"},
      {"Qwen/Qwen3-14B", "qwen3_14b"},
      {"google-bert/bert-base-uncased", "bert_base"},
  };
  for (const auto& [name, stock] : kPairs) {
    EXPECT_EQ(Load(name).parameter_elements(), Load(stock).parameter_elements())
        << name;
  }
}

/// Its parameters; -1 if no family has the fields that it needs.
std::int64_t ParametersOf(const std::string& name) {
  try {
    return Load(name).parameter_elements();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << name;
    EXPECT_THAT(error.what(), HasSubstr("and the zoo's 'llama' has no "));
  }
  return -1;
}

TEST(HubModels, HaveTheParametersOfTransformers) {
  std::ifstream file(FORETELL_SOURCE_DIR
                     "/tests/datasets/zoo/reference_hub.csv");
  std::string line;
  std::getline(file, line);  // The header.
  int built = 0;
  while (std::getline(file, line)) {
    const std::string name = line.substr(0, line.find(','));
    const std::int64_t parameters = ParametersOf(name);
    if (parameters < 0) continue;
    ++built;
    EXPECT_EQ(parameters, std::stoll(line.substr(name.size() + 1))) << name;
  }
  EXPECT_GE(built, 40);
}

/// Parameters that the name states, "8B" or "135M"; 0 if it states none.
double SizeInName(const std::string& name) {
  static const std::regex kSize("([0-9.]+)([BbMm])\\b");
  std::smatch match;
  if (!std::regex_search(name, match, kSize)) return 0;
  const bool is_million = match[2] == "M" || match[2] == "m";
  return std::stod(match[1]) * (is_million ? 1e6 : 1e9);
}

/// Parts of names that state another size: Gemma's leave out the embedding,
/// Mixtral's is of one expert, Llama 4's and Qwen1.5-MoE's of those that a
/// token takes, Qwen's VL and Ministral 3's leave out the tower, and the others
/// round down, Falcon3's 1.67 billion to 1.
constexpr std::string_view kLooseNames[] = {
    "google/gemma",
    "google/codegemma",
    "meta-llama/Llama-3.2-1B",
    "Llama-4-",
    "mistralai/Mixtral",
    "Ministral-3-8B",
    "Qwen1.5-MoE",
    "Qwen2-VL-",
    "Qwen2.5-VL-7B",
    "Qwen3-VL-4B",
    "Qwen3.5-4B",
    "ERNIE-4.5-0.3B",
    "openlm-research/open_llama_3b",
    "tiiuae/Falcon3-1B",
    "BSC-LT/salamandra-",
    "stabilityai/stablelm-",
    "allenai/OLMo-1B",
};

TEST(HubModels, HaveTheSizeThatTheirNamesState) {
  EXPECT_GT(HubNames().size(), 100u);
  for (const std::string& name : HubNames()) {
    EXPECT_TRUE(IsNetwork(name)) << name;
    const bool is_loose =
        std::ranges::any_of(kLooseNames, [&name](std::string_view part) {
          return name.find(part) != std::string::npos;
        });
    const std::int64_t parameters = ParametersOf(name);
    const double size = SizeInName(name);
    if (is_loose || parameters < 0 || size == 0) continue;
    EXPECT_NEAR(static_cast<double>(parameters) / size, 1, 0.1) << name;
  }
}

TEST(HubModels, TakeCopiesForTheNetworkOfTheSameName) {
  const Program copy = Load("unsloth/Llama-3.2-1B-unsloth-bnb-4bit");
  EXPECT_EQ(copy.parameter_elements(), ParametersOf("meta-llama/Llama-3.2-1B"));
  EXPECT_EQ(copy.warnings(Mode::kTraining).size(), 1u);
  EXPECT_FALSE(IsNetwork("unsloth/Llama-0-1B-bnb-4bit"));
  EXPECT_FALSE(IsNetwork("./Llama-3.2-1B"));
  EXPECT_FALSE(IsNetwork("models/of/Llama-3.2-1B"));
}

TEST(HubModels, WarnWhereTheyAreAPart) {
  const auto warnings = [](const char* name) {
    return Load(name).warnings(Mode::kTraining).size();
  };
  EXPECT_EQ(warnings("google/gemma-3-4b-it"), 1u);
  EXPECT_EQ(warnings("google/gemma-3-1b-it"), 0u);
}

TEST(HubModels, AreNetworksOfDiffusersToo) {
  EXPECT_EQ(Load("stabilityai/stable-diffusion-3.5-large").parameter_elements(),
            Load("sd3_5_large").parameter_elements());
  EXPECT_EQ(Load("Wan-AI/Wan2.1-T2V-1.3B-Diffusers?frames=1").name(),
            "zoo:Wan-AI/Wan2.1-T2V-1.3B-Diffusers?frames=1");
}

TEST(HubModels, AreNamedWithThePrefixOfTheZoo) {
  EXPECT_EQ(Load("meta-llama/Llama-3.1-8B?seq=4096").name(),
            "zoo:meta-llama/Llama-3.1-8B?seq=4096");
  EXPECT_TRUE(IsNetwork("meta-llama/Llama-3.1-8B?seq=4096"));
  EXPECT_FALSE(IsNetwork("meta-llama/Llama-0-8B"));
  ExpectError([] { Load("zoo:meta-llama/Llama-3.1-8"); }, ErrorCode::kNotFound,
              "near: meta-llama/Llama-3.1-8B");
}

}  // namespace
}  // namespace foretell::zoo
