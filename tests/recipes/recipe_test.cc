#include "src/recipes/recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/error.h"
#include "src/core/text.h"

namespace foretell::recipes {
namespace {

std::string DataFile(const std::string& name) {
  return std::string(FORETELL_SOURCE_DIR) + "/tests/recipes/data/" + name;
}

Recipe RecipeFrom(const std::vector<std::string>& names,
                  std::optional<int> gpus = {}) {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(DataFile(name));
  return ReadRecipe(paths, gpus);
}

/// The model and its flags as one line.
std::string LineOf(const Recipe& recipe) {
  std::vector<std::string> words;
  if (!recipe.model.empty()) words.push_back(recipe.model);
  for (const RecipeFlag& flag : recipe.flags) {
    words.push_back(flag.name);
    if (!flag.value.empty()) words.push_back(flag.value);
  }
  return Joined(words, " ");
}

std::string LeftOut(const Recipe& recipe) { return Joined(recipe.left_out); }

/// A file of a test's own, removed with it.
class OwnFile {
 public:
  OwnFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::path(testing::TempDir()) / name) {
    std::ofstream(path_) << text;
  }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  ~OwnFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string RefusalOf(const std::vector<std::string>& paths) {
  try {
    ReadRecipe(paths);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Recipe, IsThatOfAxolotl) {
  const Recipe recipe = RecipeFrom({"axolotl_qlora.yaml"});
  EXPECT_EQ(recipe.tools, "axolotl 0.18.0");
  EXPECT_EQ(LineOf(recipe),
            "NousResearch/Llama-3.2-1B --method qlora --batch 2 --accumulate 4 "
            "--seq-len 4096 --optimizer paged_adamw8bit --precision bf16 "
            "--quantize nf4,double --lora "
            "r=32,targets=\\b(q_proj|v_proj|down_proj)\\.,dropout=0.05 "
            "--recompute auto --kernels rms-norm,fused-linear-cross-entropy");
  EXPECT_EQ(LeftOut(recipe), "micro_batchsize (unknown), sample_packing=true");
}

TEST(Recipe, HoldsShardsOfTrainedWeightsInFp32) {
  const std::vector<std::string> names = {"axolotl_full_fsdp.yml"};
  EXPECT_EQ(LineOf(RecipeFrom(names)),
            "Qwen/Qwen2.5-7B --method full --batch 1 --seq-len 2048 "
            "--optimizer adamw --fused on --precision bf16 --recompute auto");
  EXPECT_EQ(LineOf(RecipeFrom(names, 4)),
            "Qwen/Qwen2.5-7B --method full --batch 1 --seq-len 2048 "
            "--optimizer adamw --fused on --autocast --precision bf16 "
            "--recompute auto --parallel fsdp:4");
}

TEST(Recipe, IsThatOfLlamaFactory) {
  const Recipe recipe = RecipeFrom({"llama_factory_lora.yaml"});
  EXPECT_EQ(LineOf(recipe),
            "Qwen/Qwen3-4B --method lora --batch 2 --accumulate 8 --seq-len "
            "1024 --optimizer adamw --fused on --precision bf16 --lora "
            "r=16,targets=" +
                std::string(kBlockLayers) + " --recompute auto");
  EXPECT_EQ(LeftOut(recipe), "");
}

TEST(Recipe, ReadsTheDeepSpeedFileThatAnotherNames) {
  const Recipe recipe = RecipeFrom({"llama_factory_full.yaml"}, 8);
  EXPECT_EQ(recipe.tools, "LLaMA-Factory 0.9.6, DeepSpeed");
  EXPECT_EQ(LineOf(recipe),
            "Qwen/Qwen2.5-1.5B --method full --batch 1 --seq-len 2048 "
            "--optimizer adamw --autocast --precision bf16 --recompute auto "
            "--kernels liger --parallel fsdp:8");
  EXPECT_EQ(LeftOut(recipe), "zero_optimization.offload_param.device=cpu");
}

TEST(Recipe, IsThatOfTorchtune) {
  const Recipe recipe = RecipeFrom({"torchtune_qlora.yaml"});
  EXPECT_EQ(LineOf(recipe),
            "meta-llama/Llama-3.1-8B --method qlora --batch 2 --accumulate 8 "
            "--seq-len 2048 --optimizer adamw --fused on --precision bf16 "
            "--quantize nf4,double --lora r=8,targets=\\b(q_proj|v_proj|o_proj|"
            "gate_proj|up_proj|down_proj|gate_up_proj|fc1|fc2|dense_h_to_4h|"
            "dense_4h_to_h)\\.,type=bf16 --recompute auto --kernels "
            "chunked-cross-entropy:8");
  EXPECT_EQ(LeftOut(recipe), "enable_activation_offloading=true");
}

TEST(Recipe, FollowsLinksOfOmegaConf) {
  EXPECT_EQ(LineOf(RecipeFrom({"torchtune_full.yaml"})),
            "Qwen/Qwen2.5-0.5B --method full --batch 4 --optimizer "
            "paged_adamw8bit --precision fp32 --no-checkpointing "
            "--optimizer-in-backward");
}

TEST(Recipe, IsThatOfTorchtitan) {
  EXPECT_EQ(LineOf(RecipeFrom({"torchtitan.toml"}, 8)),
            "meta-llama/Llama-3.1-8B --method full --batch 1 --seq-len 8192 "
            "--optimizer adamw --fused on --autocast --precision bf16 "
            "--recompute auto --parallel fsdp:8");
  const Recipe recipe = RecipeFrom({"torchtitan.yaml"}, 1);
  EXPECT_EQ(LineOf(recipe),
            "Qwen/Qwen3-0.6B --method full --batch 4 --accumulate 8 --seq-len "
            "4096 --optimizer adamw --foreach off --precision fp32 "
            "--no-checkpointing");
  EXPECT_EQ(LeftOut(recipe), "activation_checkpoint.mode=selective");
}

TEST(Recipe, SharesSequencesAndLayersAmongGpus) {
  const auto plan_of = [](const std::string& name, const std::string& text,
                          std::optional<int> gpus = {}) {
    const OwnFile file(name, text);
    const std::string path = file.path();
    const Recipe recipe = ReadRecipe({&path, 1}, gpus);
    EXPECT_EQ(LeftOut(recipe), "");
    EXPECT_EQ(recipe.flags.back().name, "--parallel");
    return recipe.flags.back().value;
  };
  const auto titan = [](const std::string& parallelism) {
    return "[model]\nname = 'qwen3'\nflavor = '8B'\n[activation_checkpoint]\n"
           "mode = 'none'\n[parallelism]\n" +
           parallelism;
  };
  const std::string ring = titan("context_parallel_degree = 2");
  EXPECT_EQ(plan_of("ring.toml", ring, 8), "cp:2+fsdp:4");
  EXPECT_EQ(plan_of("ring.toml", ring), "cp:2+fsdp:1");
  EXPECT_EQ(
      plan_of(
          "layers.toml",
          titan("tensor_parallel_degree = 4\ndata_parallel_shard_degree = 2")),
      "tp:4+fsdp:2");
  EXPECT_EQ(plan_of("launch.yaml",
                    "compute_environment: LOCAL_MACHINE\n"
                    "distributed_type: FSDP\n"
                    "fsdp_config: {fsdp_version: 2}\n"
                    "num_processes: 8\n"
                    "parallelism_config:\n"
                    "  parallelism_config_cp_size: 4\n"
                    "  parallelism_config_cp_comm_strategy: alltoall\n"),
            "cp:4,all-to-all+fsdp:2");
  EXPECT_EQ(plan_of("axolotl.yaml",
                    "base_model: Qwen/Qwen2.5-0.5B\n"
                    "tensor_parallel_size: 2\n",
                    4),
            "tp:2+ddp:2");
}

TEST(Recipe, RefusesGroupsThatGpusCannotForm) {
  const OwnFile file("ring.toml",
                     "[model]\nname = 'qwen3'\nflavor = '8B'\n"
                     "[activation_checkpoint]\nmode = 'none'\n"
                     "[parallelism]\ncontext_parallel_degree = 4\n");
  const std::string path = file.path();
  try {
    ReadRecipe({&path, 1}, 6);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("6 GPUs, expected a multiple of 4"),
        std::string::npos);
  }
}

TEST(Recipe, IsThatOfTransformersWithAnAdapter) {
  const Recipe recipe =
      RecipeFrom({"training_args.json", "adapter_config.json"});
  EXPECT_EQ(LineOf(recipe),
            "Qwen/Qwen2.5-0.5B --method lora --batch 4 --accumulate 2 "
            "--optimizer adamw_bnb_8bit --precision bf16 --lora "
            "r=64,targets=\\b(q_proj|dense)\\.,dropout=0.1,save=lm_head,dora "
            "--recompute auto");
  EXPECT_EQ(LeftOut(recipe),
            "neftune_noise_alpha=5, layers_to_transform=[0,1]");
}

TEST(Recipe, HasTheMethodsOfPeft) {
  const auto line_of = [](const std::string& text) {
    const OwnFile file("adapter.json", text);
    const std::string path = file.path();
    return LineOf(ReadRecipe({&path, 1}));
  };
  EXPECT_EQ(line_of(R"({"peft_type": "OFT", "target_modules": ["q_proj"],
                        "r": 0, "oft_block_size": 32, "bias": "oft_only"})"),
            "--method lora --lora targets=\\b(q_proj)\\.,bias=lora_only,"
            "method=oft,block=32");
  EXPECT_EQ(line_of(R"({"peft_type": "LOKR", "target_modules": ["q_proj"],
                        "r": 32, "decompose_factor": 4, "alpha": 64})"),
            "--method lora --lora r=32,targets=\\b(q_proj)\\.,method=lokr,"
            "factor=4");
  EXPECT_EQ(line_of(R"({"peft_type": "BOFT", "target_modules": ["q_proj"]})"),
            "--method lora --lora targets=\\b(q_proj)\\.,method=boft,block=4");
  EXPECT_EQ(line_of(R"({"peft_type": "PREFIX_TUNING", "num_virtual_tokens": 20,
                        "encoder_hidden_size": 64,
                        "prefix_projection": false})"),
            "--method lora --lora method=prefix,tokens=20");
  EXPECT_EQ(line_of(R"({"peft_type": "P_TUNING", "num_virtual_tokens": 20,
                        "encoder_hidden_size": 64})"),
            "--method lora --lora method=ptuning,tokens=20,hidden=64");
}

TEST(Recipe, HasTrlsDefaults) {
  EXPECT_EQ(LineOf(RecipeFrom({"sft_config.json", "adapter_config.json"})),
            "Qwen/Qwen2.5-0.5B --method qlora --batch 2 --seq-len 512 "
            "--optimizer adamw --fused on --precision bf16 --quantize "
            "nf4,double --lora r=64,targets=\\b(q_proj|dense)\\.,dropout=0.1,"
            "type=bf16,save=lm_head,dora --recompute auto --kernels "
            "fused-linear-cross-entropy");
}

TEST(Recipe, HasNoLengthWhereAFileHasNoLimit) {
  const OwnFile none("no_limit.json", R"({"max_length": null, "packing": true,
                                          "loss_type": "nll"})");
  const std::string path = none.path();
  EXPECT_EQ(LineOf(ReadRecipe({&path, 1})),
            "--method full --batch 8 --optimizer adamw --fused on --precision "
            "bf16 --recompute auto");
}

TEST(Recipe, TakesTheNumberOfGpusFromALauncher) {
  const Recipe recipe =
      RecipeFrom({"training_args.json", "accelerate_fsdp.yaml"});
  EXPECT_EQ(LineOf(recipe),
            "--method full --batch 4 --accumulate 2 --optimizer "
            "adamw_bnb_8bit --autocast --precision bf16 --recompute auto "
            "--parallel fsdp1:4,cpu-offload,no-sync");
  EXPECT_EQ(LeftOut(recipe), "neftune_noise_alpha=5");
}

TEST(Recipe, TakesEightBitsFromALauncher) {
  const auto line_of = [](const char* text) {
    const OwnFile file("accelerate_fp8.json", text);
    const std::string path = file.path();
    return LineOf(ReadRecipe({&path, 1}));
  };
  EXPECT_TRUE(line_of(R"({"distributed_type": "NO", "mixed_precision": "fp8",
                          "fp8_config": {"backend": "TE", "margin": 0}})")
                  .ends_with("--precision bf16 --kernels te-fp8"));
  EXPECT_TRUE(line_of(R"({"distributed_type": "NO", "mixed_precision": "fp8"})")
                  .ends_with("--precision bf16 --kernels float8"));
}

TEST(Recipe, SaysThatShardsNeedGpus) {
  EXPECT_EQ(LeftOut(RecipeFrom({"deepspeed_z3.json"})),
            "zero_optimization.offload_param.device=cpu, " +
                DataFile("deepspeed_z3.json") +
                ": zero_optimization.stage is fsdp (one GPU is assumed; --gpus "
                "states how many)");
}

TEST(Recipe, SplitsTheBatchOfAllGpus) {
  EXPECT_EQ(LineOf(RecipeFrom({"deepspeed_z2.json"}, 8)),
            "--batch 8 --parallel zero2:8");
  const OwnFile odd("odd.json", R"({"train_batch_size": 30})");
  const std::string path = odd.path();
  EXPECT_THROW(ReadRecipe({&path, 1}, 8), Error);
}

TEST(Recipe, LetsNoFileContradictAnother) {
  const OwnFile other("other.json",
                      R"({"zero_optimization": {"stage": 1},
                          "gradient_accumulation_steps": 3})");
  const std::string args = DataFile("training_args.json");
  EXPECT_EQ(RefusalOf({args, other.path()}),
            other.path() + ": gradient_accumulation_steps is 3, but " + args +
                ": gradient_accumulation_steps is 2");
}

TEST(Recipe, NamesFileKeyAndBothValues) {
  const OwnFile batch("batch.json",
                      R"({"per_device_train_batch_size": "many"})");
  EXPECT_EQ(RefusalOf({batch.path()}),
            batch.path() +
                ": per_device_train_batch_size is \"many\", "
                "expected a whole number from 1");
  const OwnFile type("type.json", R"({"peft_type": "LILY"})");
  EXPECT_EQ(RefusalOf({type.path()})
                .find(type.path() + ": peft_type is \"LILY\", expected "
                                    "LORA, IA3, VERA, LOHA"),
            0);
  const OwnFile freeze("freeze.yaml",
                       "finetuning_type: freeze\ncutoff_len: 8\n");
  EXPECT_EQ(RefusalOf({freeze.path()}),
            freeze.path() +
                ": finetuning_type is \"freeze\", expected lora, "
                "full, oft");
  const OwnFile list("list.yaml", "- 1\n");
  EXPECT_EQ(RefusalOf({list.path()}),
            list.path() + ": is [1], expected an object");
  const OwnFile none("none.yaml", "a: 1\n");
  EXPECT_EQ(RefusalOf({none.path()})
                .find(none.path() + ": has no key that tells its tool"),
            0);
}

/// The command line of a file with `text`.
std::string LineOfText(const std::string& text, std::optional<int> gpus = {}) {
  const OwnFile file("own.yaml", text);
  const std::string path = file.path();
  return LineOf(ReadRecipe({&path, 1}, gpus));
}

std::string RefusalOfText(const std::string& text) {
  const OwnFile file("own.yaml", text);
  const std::string refusal = RefusalOf({file.path()});
  return refusal.substr(std::min(refusal.size(), file.path().size() + 2));
}

TEST(Recipe, IsThatOfTrlsScripts) {
  const std::string sizes =
      "model_name_or_path: mistralai/Mistral-7B-v0.1\ntorch_dtype: bfloat16\n"
      "max_length: 2048\nper_device_train_batch_size: 4\nloss_type: nll\n"
      "optim: adamw_torch\n";
  EXPECT_EQ(LineOfText(sizes),
            "mistralai/Mistral-7B-v0.1 --method full --batch 4 --seq-len 2048 "
            "--optimizer adamw --precision bf16 --recompute auto");
  EXPECT_EQ(LineOfText(sizes + "use_peft: true\nload_in_4bit: true\n"),
            "mistralai/Mistral-7B-v0.1 --method qlora --batch 4 --seq-len 2048 "
            "--optimizer adamw --precision bf16 --quantize nf4 --lora r=16,"
            "targets=\\b(q_proj|v_proj|query_key_value|c_attn|qkv_proj|query|"
            "value)\\.,dropout=0.05,type=bf16 --recompute auto");
  EXPECT_EQ(LineOfText(sizes + "use_peft: true\nlora_r: 4\n"
                               "lora_dropout: 0\n"
                               "lora_target_modules: [q_proj]\n"),
            "mistralai/Mistral-7B-v0.1 --method lora --batch 4 --seq-len 2048 "
            "--optimizer adamw --precision bf16 --lora r=4,"
            "targets=\\b(q_proj)\\. --recompute auto");
}

TEST(Recipe, HoldsDeepSpeedsCopiesWhateverTypeWeightsWereReadIn) {
  EXPECT_EQ(LineOfText("model_name_or_path: Qwen/Qwen2.5-0.5B\n"
                       "torch_dtype: bfloat16\nmax_length: 512\n"
                       "loss_type: nll\noptim: adamw_torch\n"
                       "deepspeed: {zero_optimization: {stage: 3}}\n",
                       8),
            "Qwen/Qwen2.5-0.5B --method full --batch 8 --seq-len 512 "
            "--optimizer adamw --autocast --precision bf16 --recompute auto "
            "--parallel fsdp:8");
}

TEST(Recipe, IsThatOfLitgpt) {
  const std::string text =
      "checkpoint_dir: checkpoints/meta-llama/Llama-3.2-1B\n"
      "precision: bf16-true\ntrain: {global_batch_size: 8, "
      "micro_batch_size: 2, max_seq_length: 512}\n";
  EXPECT_EQ(LineOfText(text + "devices: 1\nquantize: bnb.nf4\nlora_r: 32\n"
                              "lora_mlp: true\nlora_dropout: 0\n"),
            "checkpoints/meta-llama/Llama-3.2-1B --method qlora --batch 2 "
            "--accumulate 4 --seq-len 512 --optimizer paged_adamw --precision "
            "bf16 --quantize nf4,from=fp16,skip=^$ --lora r=32,targets=\\b("
            "q_proj|qkv_proj|query_key_value|v_proj|gate_proj|up_proj|"
            "down_proj|gate_up_proj|fc1|fc2|dense_h_to_4h|dense_4h_to_h)\\.,"
            "type=bf16 --no-checkpointing --kernels chunked-cross-entropy:4");
  EXPECT_EQ(LineOfText(text + "devices: 4\n"),
            "checkpoints/meta-llama/Llama-3.2-1B --method full --batch 2 "
            "--seq-len 512 --optimizer adamw --precision bf16 --recompute auto "
            "--kernels chunked-cross-entropy:4 --parallel fsdp1:4");
}

TEST(Recipe, IsThatOfApplications) {
  EXPECT_EQ(LineOfText("model: unsloth/Qwen2.5-0.5B\n"
                       "training: {training_type: full, batch_size: 1}\n"),
            "unsloth/Qwen2.5-0.5B --method full --batch 1 --accumulate 4 "
            "--seq-len 2048 --optimizer adamw_bnb_8bit --precision bf16 "
            "--recompute auto --kernels rope,rms-norm,cross-entropy");
  EXPECT_EQ(LineOfText("task: llm-sft\nbase_model: Qwen/Qwen2.5-0.5B\n"
                       "params: {peft: true, quantization: null, "
                       "block_size: 512, mixed_precision: bf16, lora_r: 8}\n"),
            "Qwen/Qwen2.5-0.5B --method lora --batch 2 --accumulate 4 "
            "--seq-len 512 --optimizer adamw --autocast --precision bf16 "
            "--lora r=8,targets=" +
                std::string(kBlockLayers) + ",dropout=0.05 --recompute auto");
  EXPECT_EQ(LineOfText("llm_backbone: Qwen/Qwen2.5-0.5B\n"
                       "training: {lora_target_modules: 'q_proj,v_proj'}\n"),
            "Qwen/Qwen2.5-0.5B --method qlora --batch 2 --seq-len 512 "
            "--optimizer adamw --precision bf16 --quantize nf4 --lora r=4,"
            "targets=\\b(q_proj|v_proj)\\.,dropout=0.05 --recompute auto");
  EXPECT_EQ(LineOfText("model_name_or_path: Qwen/Qwen2.5-0.5B\n"
                       "max_seq_length: 512\nwith_tracking: true\n"
                       "per_device_train_batch_size: 2\n"),
            "Qwen/Qwen2.5-0.5B --method full --batch 2 --seq-len 512 "
            "--optimizer adamw --fused on --precision bf16 "
            "--no-checkpointing");
  EXPECT_EQ(LineOfText("model: Qwen/Qwen3-0.6B\nmodel_class: llm\n"
                       "peft_config: {name: lora, r: 16, target_modules: all}\n"
                       "quant_config: {name: bnb, quantization_bit: 4}\n"),
            "Qwen/Qwen3-0.6B --method qlora --batch 1 --seq-len 2048 "
            "--optimizer adamw --precision bf16 --quantize nf4,double --lora "
            "r=16,targets=" +
                std::string(kBlockLayers) + ",dropout=0.05 --recompute auto");
}

TEST(Recipe, HasTheSizesOfOft) {
  EXPECT_EQ(LineOfText("model_name_or_path: Qwen/Qwen2.5-0.5B\n"
                       "finetuning_type: oft\noft_target: [q_proj]\n"
                       "optim: adamw_torch\nbf16: true\n"),
            "Qwen/Qwen2.5-0.5B --method lora --batch 8 --seq-len 2048 "
            "--optimizer adamw --precision bf16 --lora targets=\\b(q_proj)\\.,"
            "method=oft,block=32 --recompute auto");
}

TEST(Recipe, RefusesTrainingThatHasMoreThanTexts) {
  constexpr std::string_view kRefusals[][2] = {
      {"base_model: m\nrl: dpo\n", "rl is \"dpo\""},
      {"template: t\nstage: rm\n", "stage is \"rm\""},
      {"model_name_or_path: m\nmax_length: 8\nbeta: 0.1\n", "beta is \"0.1\""},
      {"task: llm-orpo\nparams: {block_size: 8}\n", "task is \"llm-orpo\""},
      {"model: {_component_: torchtune.models.llama2.llama2_7b}\n"
       "loss: {_component_: torchtune.rlhf.loss.DPOLoss}\n",
       "loss._component_ is \"torchtune.rlhf.loss.DPOLoss\""},
  };
  for (const auto& [text, place] : kRefusals) {
    EXPECT_EQ(RefusalOfText(std::string(text)),
              std::string(place) +
                  ", and only supervised training is predicted, without the "
                  "models, texts or pairs of other kinds");
  }
}

TEST(Recipe, ChecksBlocksThatWaitOnTheHost) {
  const OwnFile file("offload.yaml",
                     "base_model: Qwen/Qwen2.5-0.5B\n"
                     "gradient_checkpointing: offload\n");
  const std::string path = file.path();
  const Recipe recipe = ReadRecipe({&path, 1});
  EXPECT_EQ(recipe.flags.back(), (RecipeFlag{"--recompute", "auto"}));
  EXPECT_EQ(LeftOut(recipe), "gradient_checkpointing=offload");
}

TEST(Recipe, EndsLinksThatGoInCircles) {
  const OwnFile circle("circle.yaml",
                       "model: {_component_: torchtune.models.llama2.llama2_7b}"
                       "\nbatch_size: ${a}\na: ${batch_size}\n");
  const std::string path = circle.path();
  EXPECT_EQ(LineOf(ReadRecipe({&path, 1})),
            "meta-llama/Llama-2-7b-hf --method full --no-checkpointing");
}

}  // namespace
}  // namespace foretell::recipes
