"""Rows of the other tables of published fine-tuning in the columns of
train_memory_finetuning."""

import re


def as_finetuning(row):
    """A row of another table in the columns of train_memory_finetuning."""
    common = {"gpus": "1", "status": "ok", "quantization": "", "attention": "sdpa",
              "kernels": "", "compile": "0", "device": row["device"],
              "torch": row.get("torch", ""), "source": row.get("source", "")}
    if "peft_type" in row:
        is_plain = re.search(r"^lora/.*rank\d+(-target-mlp|-rslora|-dora)?$",
                             row["experiment"])
        return {**common, "source": "peft", "model": row["model"],
                "method": "lora" if is_plain else row["peft_type"],
                "is_dora": row["experiment"].endswith("-dora"),
                "lora_r": row["r"], "lora_targets": row["target_modules"],
                "precision": row["dtype"], "optimizer": row["optimizer"],
                "batch_per_gpu": row["batch"], "seq_len": row["max_seq_len"],
                "checkpointing": row["checkpointing"],
                "peak_reserved_mib": row["reserved_max_mib"]}
    if "samples_per_s" in row:
        quantizer = {"bnb": ("qlora", "nf4"), "gptq": ("gptq-lora", "gptq 4 bit")}
        method, quantization = quantizer.get(
            row["quantization"], ("lora" if row["lora_r"] else "full", ""))
        return {**common, "device": "A100-SXM-80GB", "model": row["model"],
                "method": method, "quantization": quantization,
                "lora_r": row["lora_r"], "lora_targets": "q v",
                "precision": row["precision"], "optimizer": "adamw",
                "batch_per_gpu": row["batch"], "seq_len": row["seq_len"],
                "checkpointing": "0", "step_ms": row["step_ms"]}
    if "peak_reserved_gib" in row:
        return None
    return {**row, "source": "axolotl" if "axolotl" in row["source"] else row["source"]}
