"""Networks and devices of published fine-tuning, in foretell's words.

Dimensions are those of litgpt 26857050, litgpt/config.py, which names the config.json
that each comes from, except where a comment says otherwise. transformers ties the head
to the embedding in Qwen2.5 up to 3B, Qwen3 up to 4B, SmolLM2 and Llama 3.2; litgpt
never does, and its rows have names of their own.
"""

MISTRAL_V3 = "mistral_7b?vocabulary=32768"
LLAMA_70B = "llama2_7b?width=8192&depth=80&heads=64&kv_heads=8&inner=28672"
TINY_LLAMA = "llama2_7b?width=2048&depth=22&kv_heads=4&inner=5632"
QWEN2_1_5B = "qwen2_0_5b?width=1536&depth=28&heads=12&inner=8960"
QWEN3 = ("qwen3_8b?width={}&depth={}&heads={}&inner={}&head_width=128"
         "&tied_head=true")
SMOLLM2 = ("llama2_7b?width={}&depth={}&heads={}&kv_heads={}&inner={}"
           "&vocabulary=49152&positions=8192&rotary_base=100000&tied_head=true")
LLAMA3_2_3B = ("llama3_8b?width=3072&depth=28&heads=24&inner=8192&positions=131072"
               "&tied_head={}")

# litgpt's defaults: GPT-NeoX's blocks.
NEOX = ("llama2_7b?norm=layer&parallel_blocks=true&mlp_gate=false&fused_qkv=true"
        "&activation={}&width={}&depth={}&heads={}&kv_heads={}&inner={}&vocabulary={}"
        "&rotary_share={}")
BIASES = "&qkv_bias=true&out_bias=true&mlp_bias=true"

# By the last part of the name that a row has, without "-GPTQ", in lower case. Names
# without dimensions are stock networks, which a program may not have yet.
NETWORKS = {
    "mistral-7b": "mistral_7b",
    "mistral-7b-v0.1": "mistral_7b",
    "mistral-7b-v0.2": "mistral_7b",
    "mistral-7b-v0.3": MISTRAL_V3,
    "mistral-7b-instruct-v0.3": MISTRAL_V3,
    "mixtral-8x7b-instruct-v0.1": "mixtral_8x7b",
    "llama-2-7b": "llama2_7b",
    "llama-2-7b-hf": "llama2_7b",
    "llama 2 7 b": "llama2_7b",
    "llama-2-13b-hf": "llama2_13b",
    "llama 2 13 b": "llama2_13b",
    "llama-2-70b": LLAMA_70B,
    "llama-2-70b-hf": LLAMA_70B,
    "llama-3-8b": "llama3_8b",
    "meta-llama-3-8b": "llama3_8b",
    "llama-3.1-8b": "llama3_8b?positions=131072",
    "meta-llama-3.1-8b": "llama3_8b?positions=131072",
    "litgpt llama-3.2-1b": "llama3_2_1b?tied_head=false",
    "litgpt llama-3.2-3b": LLAMA3_2_3B.format("false"),
    "litgpt gemma-2b": "gemma_2b?tied_head=false",
    "litgpt gemma-7b": "gemma_7b?tied_head=false",
    "litgpt gemma-2-2b": "gemma2_2b?tied_head=false",
    "litgpt gemma-2-9b": "gemma2_9b?tied_head=false",
    "litgpt falcon-7b": "falcon_7b?tied_head=false",
    "llama-3.2-1b": "llama3_2_1b",
    "llama-3.2-3b": LLAMA3_2_3B.format("true"),
    "tiny-llama": TINY_LLAMA,
    "tinyllama-1.1b-chat-v1.0": TINY_LLAMA,
    "smollm2-135m": SMOLLM2.format(576, 30, 9, 3, 1536),
    "smollm2-360m": SMOLLM2.format(960, 32, 15, 5, 2560),
    "qwen2.5-0.5b": "qwen2_0_5b",
    "qwen2.5-0.5b-instruct": "qwen2_0_5b",
    "qwen2.5-1.5b": QWEN2_1_5B,
    "qwen2.5-1.5b-instruct": QWEN2_1_5B,
    "qwen2.5-coder-1.5b-instruct": QWEN2_1_5B,
    "qwen2.5-3b-instruct": "qwen2_0_5b?width=2048&depth=36&heads=16&inner=11008",
    "qwen2.5-7b-instruct": "qwen2_7b",
    "qwen3-0.6b": QWEN3.format(1024, 28, 16, 3072),
    "qwen3-4b": QWEN3.format(2560, 36, 32, 9728),
    # The modules that transformers prints, of the 1.3B model: 24 blocks of 2048,
    # inner 5504, 32256 words; in sum the 1,346,471,936 parameters of its weights.
    "deepseek-coder-1.3b-instruct":
        "llama2_7b?width=2048&depth=24&heads=16&kv_heads=16&inner=5504"
        "&vocabulary=32256&positions=16384&rotary_base=100000",
    # LLaMA's kind with multipliers. Its 3.51 billion parameters are a third of what
    # fms-acceleration measured after training (20,113 MiB: weights and two moments).
    "powerlm-3b": "llama2_7b?width=2304&depth=40&heads=36&kv_heads=36&inner=9216"
                  "&vocabulary=49152&tied_head=true",
    "gpt_bigcode-santacoder": "santacoder",
    "gemma-2b": "gemma_2b",
    "gemma-7b": "gemma_7b",
    "gemma-2-2b": "gemma2_2b",
    "gemma-2-9b": "gemma2_9b",
    "gemma-3-4b-it": "gemma3_4b",
    "phi-3-mini-4k-instruct": "phi3_mini",
    "phi-2": "phi2",
    "phi-1.5 1.3 b": NEOX.format("gelu_tanh", 2048, 24, 32, 32, 8192, 51200, 0.5)
                     + BIASES + "&head_bias=true",
    "falcon-7b": "falcon_7b",
    "falcon 40 b": NEOX.format("gelu", 8192, 60, 128, 8, 32768, 65024, 1)
                   + "&parallel_norms=2",
    "stablelm alpha 3 b": NEOX.format("gelu", 4096, 16, 32, 32, 16384, 50688, 0.25)
                          + BIASES + "&parallel_norms=2",
}

# A source that does not name its card measured what torch allocated, which hardly
# depends on it.
DEVICES = {
    "": "a100-sxm4-80gb", "A100-SXM-80GB": "a100-sxm4-80gb",
    "A100-80GB": "a100-sxm4-80gb", "A100-SXM-40GB": "a100-sxm4-40gb",
    "A10G-24GB": "a10g", "T4": "t4", "L40S": "l40s", "RTX-A6000": "rtx-a6000",
    "RTX-4080-16GB": "rtx-4080", "RTX-4090": "rtx-4090",
    "RTX 3090 or RTX 5090 (not said per row)": "rtx-5090"}


def network(model, source):
    """The zoo's network of a row's model; empty if none is known."""
    name = model.split("/")[-1].lower().removesuffix("-gptq")
    if source == "litgpt":
        return NETWORKS.get(f"litgpt {name}", NETWORKS.get(name, ""))
    return NETWORKS.get(name, "")
