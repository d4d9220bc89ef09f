#!/usr/bin/env python3
"""Tests of how published fine-tuning is asked for and compared, on made-up rows."""

import contextlib
import csv
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path[:0] = [str(SCRIPTS / "lib"), str(SCRIPTS / "published")]

import compare_finetuning  # noqa: E402
import finetuning_runs  # noqa: E402
import finetuning_tables  # noqa: E402
import finetuning_tools  # noqa: E402
import foretell  # noqa: E402

ROW = {"device": "A100-SXM-80GB", "gpus": "1", "parallel": "",
       "model": "mistralai/Mistral-7B-v0.1", "method": "full", "quantization": "",
       "lora_r": "", "lora_targets": "", "precision": "bfloat16",
       "optimizer": "adamw (transformers default)", "batch_per_gpu": "4",
       "seq_len": "128", "attention": "flash_attention_2", "checkpointing": "1",
       "compile": "0", "kernels": "none", "torch": "2.4.1",
       "peak_allocated_mib": "1000", "peak_reserved_mib": "", "process_mib": "1600",
       "step_ms": "", "status": "ok", "note": "", "source": "fms-acceleration",
       "source_path": ""}
LORA = {"method": "lora", "lora_r": "16.0", "lora_targets": "q_proj v_proj"}
QLORA = {**LORA, "method": "qlora", "quantization": "nf4"}
LLAMA = {"width": 8, "depth": 2, "heads": 2, "kv_heads": 1, "inner": 16,
         "vocabulary": 10, "tied_head": True, "qkv_bias": False}


class Knowing(finetuning_runs.Program):
    """Has these networks and all flags and fields except those with a word."""

    networks = {"mistral_7b", "llama2_7b", "llama3_2_1b", "llama3_8b", "santacoder"}

    def __init__(self, *missing):
        self.missing = missing

    def knows(self, flags):
        text = " ".join(flags)
        return not any(word in text for word in self.missing)

    def has_field(self, field):
        return self.knows((field,))


def run_of(changes, *missing):
    return finetuning_runs.run_of({**ROW, **changes}, Knowing(*missing))


class Commands(unittest.TestCase):

    def assert_asked(self, run, *words):
        text = " ".join(run.words)
        for word in words:
            self.assertIn(word, text)

    def test_asks_for_full_training(self):
        run = run_of({})
        self.assert_asked(
            run, "predict zoo:mistral_7b?attention=flash --json --batch 4",
            "--device a100-sxm4-80gb --precision bf16 --torch 2.4",
            "--environment cuda12-lazy --mode training --optimizer adamw",
            "--loss-in-function --recompute auto")
        self.assertEqual(run.truth, {"allocated": 1000, "process": 1600})
        self.assertNotIn("--lora", run.words)

    def test_leaves_out_what_only_refines(self):
        whole = run_of(LORA)
        self.assert_asked(whole, "--lora r=16,dropout=0.1,targets=q_proj|v_proj")
        self.assertEqual(whole.without, ())
        plain = run_of(LORA, "dropout")
        self.assert_asked(plain, "--lora r=16,targets=q_proj|v_proj")
        self.assertEqual(plain.without, ("--lora dropout=0.1",))

    def test_runs_the_network_as_the_sources_transformers_did(self):
        old = {"source_path": "scripts/benchmarks/refs/a100_80gb_liger.csv",
               "attention": "sdpa"}
        fields = "zoo:mistral_7b?upcast_logits=true&shift_logits=true&repeat_kv=true"
        self.assert_asked(run_of(old), fields + " ")
        self.assert_asked(run_of(old, "shift"),
                          fields.replace("&shift_logits=true", ""))
        self.assertEqual(run_of(old, "shift").without, ("field shift_logits=true",))

    def test_does_not_ask_without_what_is_needed(self):
        self.assertEqual(run_of(QLORA, "--quantize").reason, "--quantize nf4,double")
        self.assertEqual(run_of({"kernels": "foak-fast-kernels"}, "--kernels").reason,
                         "--kernels foak")
        self.assertEqual(run_of({"attention": "eager"}, "attention").reason,
                         "eager attention")
        self.assertEqual(run_of({"model": "x/unheard-of"}).reason,
                         "network x/unheard-of")
        self.assertEqual(run_of({"model": "gemma-7b"}).reason, "network gemma_7b")
        self.assertEqual(run_of({"seq_len": ""}).reason,
                         "length or batch varies or is not stated")

    def test_quantizes_as_the_source_does(self):
        self.assert_asked(run_of(QLORA), "--quantize nf4,double --optimizer")
        fitcheck = run_of({**QLORA, "source": "fitcheck", "precision": "fp16"})
        self.assert_asked(fitcheck, "--precision fp16", "--quantize nf4 --opt", "kbit")
        litgpt = run_of({**QLORA, "source": "litgpt", "quantization": "bnb.nf4-dq",
                         "method": "lora"})
        self.assertEqual(litgpt.method, "qlora")
        self.assert_asked(litgpt, "nf4,double,keep-input,from=fp16,skip=^$", "type=bf16",
                          "--kernels chunked-cross-entropy:4", "--accumulate 2")

    def test_shards_trained_weights_in_32_bits_under_autocast(self):
        amp = {"precision": "bfloat16 + amp", "gpus": "2"}
        self.assert_asked(run_of(amp), "--precision bf16",
                          "--parallel fsdp1:2,fp32-shards,reentrant")
        self.assert_asked(run_of({**amp, **LORA}), "--parallel fsdp1:2,reentrant")
        self.assertNotIn("--parallel", run_of({**amp, "gpus": "1"}).words)

    def test_trains_4_bit_weights_under_autocast(self):
        self.assert_asked(run_of(QLORA), "--autocast --half-weights")
        self.assertNotIn("--autocast", run_of({**QLORA, "gpus": "2"}).words)
        fitcheck = run_of({**QLORA, "source": "fitcheck", "precision": "fp16"})
        self.assertNotIn("--autocast", fitcheck.words)

    def test_runs_santacoder_as_transformers_4_45(self):
        santacoder = {"model": "bigcode/gpt_bigcode-santacoder", "gpus": "2"}
        fields = "shift_logits=true&upcast_loss=false&returned_cache=true "
        self.assert_asked(run_of(santacoder), "zoo:santacoder?attention=flash&" + fields)
        adapted = run_of({**santacoder, **QLORA, "lora_targets": "q_proj c_attn"})
        self.assert_asked(adapted, "targets=qkv_proj", "--autocast --half-weights")

    def test_reads_cuda_from_the_version(self):
        flags = finetuning_runs.environment_flags
        self.assertEqual(flags("2.10.0+cu128")[1:],
                         ("2.10", "--environment", "cuda12-lazy"))
        self.assertEqual(flags("2.14.1+cu130"), ("--torch", "2.14"))
        self.assertEqual(flags("2.12"), ("--torch", "2.12"))
        self.assertEqual(flags("2.4.1", finetuning_runs.EAGER),
                         ("--torch", "2.4", "--environment", "cuda12-eager"))
        self.assertEqual(flags(""), ())

    def test_reads_the_other_tables(self):
        peft = finetuning_tables.as_finetuning(
            {"device": "L40S", "experiment": "lora/x-rank8", "peft_type": "LORA",
             "model": "meta-llama/Llama-3.2-3B", "r": "8", "target_modules": "q_proj",
             "dtype": "bfloat16", "batch": "4", "max_seq_len": "768", "torch": "2.13",
             "checkpointing": "0", "optimizer": "AdamW", "reserved_max_mib": "20"})
        run = finetuning_runs.run_of(peft, Knowing())
        self.assertEqual((run.method, run.truth), ("lora", {"reserved": 20}))
        time = finetuning_tables.as_finetuning(
            {"device": "A100-SXM-80GB", "model": "x/Llama-2-7b-hf", "batch": "1",
             "precision": "fp16", "seq_len": "256", "lora_r": "8", "torch": "2.1.1",
             "quantization": "gptq", "samples_per_s": "1", "step_ms": "5"})
        run = finetuning_runs.run_of(time, Knowing())
        self.assert_asked(run, "--quantize gptq:4", "targets=q_proj|v_proj")
        self.assertEqual(run.truth, {"step": 5})


class Comparison(unittest.TestCase):

    def print_of(self, rows, *flags, answer):
        """What the script prints of rows, each predicted by `answer`."""
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder, "rows.csv")
            with table.open("w", newline="") as file:
                writer = csv.DictWriter(file, ROW)
                writer.writeheader()
                writer.writerows(rows)
            printed = io.StringIO()
            with mock.patch.object(foretell, "run_json", answer), \
                    mock.patch.object(finetuning_runs, "Program", Knowing), \
                    mock.patch.object(sys, "argv", ["compare", str(table), *flags]), \
                    contextlib.redirect_stdout(printed):
                compare_finetuning.main()
        return printed.getvalue()

    @staticmethod
    def answer(*words):
        if "--lora" in words:
            raise foretell.Failure(words, foretell.MODEL_FAILED,
                                   "foretell: error: no layer matches")
        batch = int(words[words.index("--batch") + 1])
        memory = {"allocated_mib": 275 * batch, "reserved_mib": 1200,
                  "total_mib": 1800, "on_device_mib": 1520 if batch < 8 else None}
        return {"results": [{"memory": memory, "verdict": {
            "estimate_mib": 300 * batch, "at_most_mib": 600 * batch,
            "usable_mib": 2000}}]}

    def test_prints_errors_verdicts_and_reasons(self):
        rows = [ROW, {**ROW, "batch_per_gpu": "2"}, {**ROW, **LORA},
                {**ROW, "batch_per_gpu": "8", "status": "oom", "process_mib": "9"}]
        printed = self.print_of(rows, "--by-model", "--rows", answer=self.answer)
        name = "fms-acceleration · full · one"
        self.assertIn(f"| {name} | 3 | 3 | allocated | 2 | 27.5 | 27.5 | -17.5 |",
                      printed)
        self.assertIn(f"| {name} | 3 | 3 | process | 2 | 5.0 | 5.0 | -5.0 |", printed)
        self.assertIn("| looked at · one | 4 | 3 | allocated | 2 | 27.5 |", printed)
        self.assertIn("| fms-acceleration · lora · one | 1 | 0 |", printed)
        self.assertIn("| ran | 2 | 2 | 0 | 1 |", printed)
        self.assertIn("| out of memory | 1 | 0 | 1 | 0 |", printed)
        self.assertIn("| fms-acceleration: refused: no layer matches | 1 |", printed)
        self.assertIn("| process | 1600 | 1520 | -5.0 % |", printed)

    def test_asks_equal_commands_once(self):
        answer = mock.Mock(side_effect=self.answer)
        self.print_of([ROW, ROW], answer=answer)
        self.assertEqual(answer.call_count, 1)

    def test_keeps_answers_of_the_same_program(self):
        answer = mock.Mock(side_effect=self.answer)
        with tempfile.TemporaryDirectory() as folder:
            kept = pathlib.Path(folder, "kept")
            program = pathlib.Path(folder, "program")
            program.touch()
            with mock.patch.object(foretell, "program", lambda _: program):
                for _ in range(2):
                    self.print_of([ROW], "--answers", str(kept), answer=answer)
                self.assertEqual(answer.call_count, 1)
                os.utime(program, ns=(5, 5))
                self.print_of([ROW], "--answers", str(kept), answer=answer)
                self.assertEqual(answer.call_count, 2)


class Tools(unittest.TestCase):

    def test_counts_the_weights_of_a_decoder(self):
        # Queries and outputs 8 x 8, keys and values 8 x 4, three of 8 x 16, two norms.
        block = 2 * 64 + 2 * 32 + 3 * 128 + 16
        self.assertEqual(finetuning_tools.parameters(LLAMA), 2 * block + 80 + 8)
        untied = {**LLAMA, "tied_head": False}
        self.assertEqual(finetuning_tools.parameters(untied), 2 * block + 160 + 8)


if __name__ == "__main__":
    unittest.main()
