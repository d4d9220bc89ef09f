#!/usr/bin/env python3
"""foretell's predictions against the fine-tuning runs that measure_allocator.py
--suite finetuning measured.

    FORETELL=build/release/cli/foretell \\
    scripts/bench/compare_finetuned.py finetuning.jsonl.gz [more.jsonl.gz] [--rows]

Each run is predicted by flags, from the config.json of its network. Prints in
Markdown, for each plan, adapter and loop: runs, and for allocated and reserved
peaks and the process (NVML) the median and mean absolute and the median signed
error in percent; then which runs were left out and why. Predictions leave out
NCCL's buffers: the runs' process group has none. A third of the runs, those whose
id's CRC32 three divides, has a table of its own: no decision may depend on it.
`--rows` adds each run in MiB. Runs with the loss "shifted" hold their logits in
16 bits during the loss, which the prediction leaves out: its allocated memory is
too low by them.
"""
import argparse
import collections
import gzip
import json
import pathlib
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "lib")]
import foretell  # noqa: E402
import published  # noqa: E402
from compare_allocator import MIB, Unsupported  # noqa: E402
from finetuning_cases import is_prepared, is_sharded  # noqa: E402

DEVICES = {"NVIDIA H100 80GB HBM3": "h100-sxm5-80gb",
           "NVIDIA H200": "h200-sxm-141gb"}
FIGURES = ("allocated", "reserved", "process")
TYPES = {"MistralForCausalLM": "mistral", "LlamaForCausalLM": "llama",
         "MixtralForCausalLM": "mixtral", "Gemma2ForCausalLM": "gemma2",
         "Qwen2ForCausalLM": "qwen2"}
# bitsandbytes' own; the Trainer keeps an embedding's states in 32 bits.
OPTIMIZERS = {"adamw_8bit": "adamw8bit", "paged_adamw_8bit": "paged_adamw8bit",
              "adafactor": "hf_adafactor"}
LINEAR = "q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj"


def adapter_words(case):
    """LoRA's flag for the case's adapter."""
    if not case["adapter"]:
        return []
    options = dict(case["adapter"])
    method = options.pop("method")
    targets = options.get("target_modules", LINEAR)
    targets = LINEAR if targets == "all-linear" else "|".join(targets)
    if method == "lora":
        keys = [f"r={options['r']}"]
        keys += ["dora"] * bool(options.get("use_dora"))
        if options.get("lora_dropout"):
            keys.append(f"dropout={options['lora_dropout']}")
        keys += ["type=bf16"] * (is_sharded(case) and case["loop"] == "own")
        keys += ["kbit"] * is_prepared(case)
        return ["--lora", ",".join([*keys, f"targets={targets}"])]
    if method in ("vera", "loha", "lokr"):
        return ["--lora", f"method={method},r={options['r']},targets={targets}"]
    if method in ("prompt", "prefix"):
        return ["--lora",
                f"method={method},tokens={options['num_virtual_tokens']}"]
    raise Unsupported(f"adapter {method}")


def precision_words(case):
    if (case["parallel"] or {}).get("mixed"):
        return ["--precision", "bf16"]
    if case["autocast"]:
        return ["--autocast", "--precision", "bf16",
                *["--half-weights"] * (case["precision"] == "bf16")]
    return ["--precision", case["precision"]]


def parallel_words(case):
    plan = case["parallel"]
    if not plan:
        return []
    kind = {"fsdp2": "fsdp"}.get(plan["plan"], plan["plan"])
    if plan.get("strategy") == "SHARD_GRAD_OP" or (
            plan["plan"].startswith("fsdp1") and not plan["prefetch"]):
        raise Unsupported("SHARD_GRAD_OP, or no gathering in advance")
    if kind == "fsdp" and not plan["reshard"]:
        kind = "zero2"
    words = f"{kind}:{plan['world']}"
    words += ",fp32-shards" * bool(plan.get("mixed"))
    if plan.get("reduce"):
        words += f",reduce={plan['reduce']}"
    words += ",orig-params" * bool(plan.get("orig"))
    words += ",bucket-view" * bool(plan.get("view"))
    return ["--parallel", words]


def words_of(case, device, folder):
    """The command of a case, whose config.json is put into `folder`."""
    if case["float8"] or case["runtime"] != "eager":
        raise Unsupported("FP8 or torch.compile")
    if case["loop"] == "sft":
        raise Unsupported("TRL's loss in chunks")
    if case["quantize"] and case["model"].startswith("Mixtral"):
        raise Unsupported("experts that bitsandbytes leaves in 16 bits")
    config = dict(case["config"], model_type=TYPES[case["model"]])
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    fields = ("?shift_logits=true&upcast_logits=true"
              if case["loss"] == "shifted" else "")
    words = ["predict", f"{path}{fields}", "--json", "--mode", "training",
             "--batch", str(case["batch"]), "--seq-len", str(case["seq"]),
             "--device", device, "--torch", "2.11", "--loss-in-function",
             "--optimizer", OPTIMIZERS.get(case["optimizer"],
                                           case["optimizer"])]
    if case["optimizer_options"].get("fused"):
        words += ["--fused", "on"]
    if case["checkpointing"]:
        words += ["--recompute", "auto"]
    if case["accumulation"] > 1:
        words += ["--accumulate", str(case["accumulation"])]
    if case["quantize"]:
        words += ["--quantize", {"nf4": "nf4,double", "int8": "int8"}[
            case["quantize"]]]
    return [*words, *precision_words(case), *adapter_words(case),
            *parallel_words(case)]


def read_rows(paths):
    """(device, row) of every run that ended well."""
    for path in paths:
        opened = gzip.open if path.suffix == ".gz" else open
        device = None
        with opened(path, "rt") as file:
            for line in file:
                row = json.loads(line)
                if row["kind"] == "environment":
                    device = DEVICES[row["device"]]
                elif row["status"] == "ok":
                    yield device, row


def measured(row):
    found = {"allocated": row["peak_allocated"] / MIB,
             "reserved": row["peak_reserved"] / MIB}
    process = row["nvml"]["end"]["process"]
    if process:
        found["process"] = process / MIB
    return found


def predicted(answer):
    memory = answer["results"][0]["memory"]
    parallel = answer["results"][0].get("parallel") or {}
    outside = parallel.get("link_buffers_mib", 0)
    return {"allocated": memory["allocated_mib"],
            "reserved": memory["reserved_mib"],
            "process": memory["total_mib"] - outside}


def group(case):
    plan = case["parallel"]
    parts = [plan["plan"] if plan else "one GPU",
             case["quantize"] or "", "full" if not case["adapter"]
             else case["adapter"]["method"],
             "" if case["loop"] == "own" else case["loop"]]
    return " ".join(part for part in parts if part)


def print_table(title, pairs):
    print(f"\n| {title} | runs | " + " | ".join(
        f"{figure}: median | mean | signed" for figure in FIGURES) + " |")
    print("|---" * (2 + 3 * len(FIGURES)) + "|")
    groups = collections.defaultdict(list)
    for row, one, other in pairs:
        groups[group(row["case"])].append((one, other))
        groups["all"].append((one, other))
    for name in sorted(groups, key=lambda name: (name == "all", name)):
        cells = [published.error_cells([other[figure] / one[figure] - 1
                                        for one, other in groups[name]
                                        if figure in one])
                 for figure in FIGURES]
        print(f"| {name} | {len(groups[name])} | {' | '.join(cells)} |")


def print_rows(pairs):
    for row, one, other in sorted(pairs, key=lambda p: group(p[0]["case"])):
        case = row["case"]
        print(f"{group(case):24} {case['model'][:7]:8} {case['batch']}x"
              f"{case['seq']} {case['loss']:8} {case['checkpointing'] or '-':14}"
              + "  ".join(f"{figure} {one[figure]:.0f} {other[figure]:.0f} "
                          f"{100 * (other[figure] / one[figure] - 1):+.1f} %"
                          for figure in FIGURES if figure in one)
              + (f"  {case['parallel']}" if case["parallel"] else ""))


def compare(rows):
    """[(row, measured, predicted)], and how many others were left out, by reason."""
    pairs, refused = [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for device, row in rows:
            try:
                words = words_of(row["case"], device, pathlib.Path(folder))
                answer = foretell.run_json(*words)
            except Unsupported as reason:
                refused[str(reason)] += 1
                continue
            except foretell.Failure as failure:
                refused[str(failure).splitlines()[-1][-160:]] += 1
                continue
            pairs.append((row, measured(row), predicted(answer)))
    return pairs, refused


def is_kept_back(row):
    return zlib.crc32(row["id"].encode()) % 3 == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--rows", action="store_true")
    options = parser.parse_args()
    published.need(*options.paths)
    pairs, refused = compare(read_rows(options.paths))
    print_table("runs", [p for p in pairs if not is_kept_back(p[0])])
    print_table("kept back", [p for p in pairs if is_kept_back(p[0])])
    for reason, count in refused.most_common():
        print(f"left out: {count} runs, {reason}")
    if options.rows:
        print_rows(pairs)


if __name__ == "__main__":
    foretell.main(main)
