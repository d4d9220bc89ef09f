#!/usr/bin/env python3
"""foretell's prediction beside each run that measure_allocator.py measured.

    PYTHONPATH=python FORETELL=build/release/cli/foretell \\
    compare_allocator.py --out compare.csv allocator.jsonl.gz [more.jsonl.gz]

Each case is built again on the meta device (on the CPU where it cannot be),
wrapped with its loss into one module, and predicted, in a process of its own.
Rows of the CSV are appended as they come; ids that --out has are left out, and
--again REGEX predicts those whose error or notes match once more. Sizes are
MiB, errors percent of the measurement:
  status      ok; refused: foretell's `error`; unsupported: why it was not
              asked; failed: the case could not be built; timeout
  allocated, reserved    peaks over all steps
  total       the process by NVML at the end
  context     total less what is reserved then: context and loaded kernels
  notes       fields of the case that the prediction leaves out (ignored: …),
              what stands for another (as: …), and foretell's warnings
  phase       of the measured peak of allocated memory, with its step
`--summary` prints tables of a finished CSV.
"""
import argparse
import collections
import contextlib
import csv
import ctypes
import gzip
import importlib
import json
import multiprocessing
import os
import re
import resource
import signal
import statistics
import sys
import time
import traceback
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

MIB = 2**20
CLOCK_FACTOR = 4
PR_SET_PDEATHSIG = 1
WHAT = ("allocated", "reserved", "total", "context")
COLUMNS = (["id", "source", "task", "model", "mode", "precision", "optimizer",
            "lora", "batch", "status"]
           + [f"{one}_{what}" for what in WHAT
              for one in ("measured", "predicted", "error")]
           + ["measured_phase", "predicted_phase", "peak_operator",
              "workspace", "seconds", "notes", "error"])
AUTOCAST = {"bf16_autocast": "bf16", "fp16_autocast": "fp16"}
# What measure_allocator.py calls an optimizer -> foretell's name.
OPTIMIZERS = {"adamw": "adamw", "adam": "adam", "sgd": "sgd",
              "rmsprop": "rmsprop", "adagrad": "adagrad",
              "adafactor_torch": "adafactor", "adafactor_hf": "adafactor"}


class Unsupported(Exception):
    """A case that foretell has no words for."""


# --- the case as a module with its loss --------------------------------------


class Fixed:
    """Values that a copy of the module shares."""

    def __init__(self, **values):
        self.values = values

    def __deepcopy__(self, memo):
        return self


def closure_cells(function):
    """The cells with tensors of a loss and of the losses that it calls."""
    import torch
    for cell in getattr(function, "__closure__", None) or ():
        if torch.is_tensor(cell.cell_contents):
            yield cell
        elif callable(cell.cell_contents):
            yield from closure_cells(cell.cell_contents)


def whole_step(case, work):
    """(module, inputs): the forward pass and its loss, whose targets are inputs
    as well. A kept output is a result beside the loss."""
    import torch
    from torch.utils import _pytree

    leaves, structure = _pytree.tree_flatten((work.args, work.kwargs))
    places = [i for i, leaf in enumerate(leaves) if torch.is_tensor(leaf)]
    training = case["mode"] == "training"
    cells = list(closure_cells(work.loss)) if training else []
    fixed = Fixed(leaves=leaves, structure=structure, places=places,
                  cells=cells, loss=work.loss, training=training,
                  kept=case["outputs"] == "kept")

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = work.module
            self.fixed = fixed

        def forward(self, *tensors):
            f = self.fixed.values
            filled = list(f["leaves"])
            for place, tensor in zip(f["places"], tensors):
                filled[place] = tensor
            args, kwargs = _pytree.tree_unflatten(filled, f["structure"])
            out = self.module(*args, **kwargs)
            if not f["training"]:
                return out
            before = [cell.cell_contents for cell in f["cells"]]
            try:
                for cell, one in zip(f["cells"], tensors[len(f["places"]):]):
                    cell.cell_contents = one
                loss = f["loss"](out)
            finally:
                for cell, one in zip(f["cells"], before):
                    cell.cell_contents = one
            return {"loss": loss, "out": out} if f["kept"] else {"loss": loss}

    step = Step()
    step.train(training)
    inputs = [leaves[i] for i in places] + [c.cell_contents for c in cells]
    return step, tuple(inputs)


def built(case):
    """The workload on the meta device, else on the CPU."""
    import allocator_models
    # foretell has channels_last as a flag; where the module is made does not
    # matter to it.
    plain = dict(case, construction="device", channels_last=False)
    try:
        return allocator_models.build(plain, "meta")
    except Exception:
        return allocator_models.build(plain, "cpu")


# --- foretell's words for a case ---------------------------------------------


def optimizer_words(case, notes):
    kind, options = case["optimizer"], dict(case["optimizer_options"])
    if kind not in OPTIMIZERS:
        raise Unsupported(f"optimizer {kind}")
    if options.pop("amsgrad", False):
        raise Unsupported(f"optimizer {kind} with amsgrad")
    if kind == "rmsprop" and options.get("momentum"):
        raise Unsupported("optimizer rmsprop with momentum")
    name = OPTIMIZERS[kind]
    if kind == "sgd" and options.get("momentum"):
        name = "momentum"
    if options.get("nesterov"):
        notes.append("as: nesterov as momentum")
    if kind == "adafactor_hf":
        notes.append("as: transformers' Adafactor as torch's")
    words = {"optimizer": name}
    for switch in ("foreach", "fused"):
        if options.get(switch) is not None:
            words[switch] = options[switch]
    return words


def words_of(case, notes, arguments):
    """The keyword arguments of foretell.predict."""
    if case["runtime"] != "eager":
        raise Unsupported("torch.compile")
    words = dict(device=arguments.device, torch=arguments.torch,
                 mode=case["mode"], method="analytic")
    if case["precision"] in AUTOCAST:
        words["autocast"] = AUTOCAST[case["precision"]]
    if case["channels_last"]:
        words["channels_last"] = True
    if case["allocator"] == "expandable_segments:True":
        words["expandable_segments"] = True
    elif case["allocator"]:
        notes.append(f"ignored: {case['allocator']}")
    if case["cudnn_benchmark"]:
        notes.append("ignored: cudnn_benchmark")
    if case["mode"] == "inference":
        return words
    words.update(optimizer_words(case, notes))
    if case["accumulation"] > 1:
        words["accumulate"] = case["accumulation"]
    if not case["set_to_none"]:
        words["set_to_none"] = False
    if case["clip"]:
        notes.append("ignored: clip")
    if case["zero_grad"] == "before_backward":
        notes.append("ignored: zero_grad before backward")
    if case["outputs"] == "kept":
        notes.append("as: kept output as a result")
    if case["use_cache"]:
        notes.append("ignored: use_cache")
    return words


def predicted(case, arguments):
    """Fields of the CSV row of a case."""
    import foretell
    notes, begin = [], time.monotonic()
    row = {}
    try:
        words = words_of(case, notes, arguments)
        try:
            work = built(case)
            step, inputs = whole_step(case, work)
        except Exception as error:
            row.update(status="failed", error=f"build: {one_line(error)}")
            return row
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always", foretell.Warning)
            memory = foretell.predict(step, inputs, **words).memory
        notes += [str(w.message) for w in seen
                  if issubclass(w.category, foretell.Warning)]
        row.update(
            status="ok", predicted_allocated=memory.allocated_mib,
            predicted_reserved=memory.reserved_mib,
            predicted_total=memory.total_mib,
            predicted_context=memory.context_mib,
            predicted_phase=memory.peak_phase,
            peak_operator=memory.peak_operator,
            workspace=memory.workspace_at_peak_mib)
    except Unsupported as error:
        row.update(status="unsupported", error=str(error))
    except foretell.Error as error:
        row.update(status="refused", error=one_line(error))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        row.update(status="failed", error=f"{one_line(error)} "
                   f"({os.path.basename(where.filename)}:{where.lineno})")
    finally:
        row["notes"] = "; ".join(notes)
        row["seconds"] = round(time.monotonic() - begin, 1)
    return row


def one_line(error):
    text = f"{type(error).__name__}: {error}" if not str(
        error) or type(error).__name__ != "Error" else str(error)
    return " ".join(text.split())[:500]


# --- measured rows -----------------------------------------------------------


def read_rows(paths):
    """The rows that are ok, each id once, with the fields of the phases."""
    rows = {}
    for path in paths:
        with gzip.open(path, "rt") if path.endswith(".gz") else open(
                path) as lines:
            for line in lines:
                row = json.loads(line)
                if row.get("kind") == "environment":
                    fields = row["fields"]
                elif row["status"] == "ok":
                    row["fields"] = fields
                    rows.setdefault(row["id"], row)
    return list(rows.values())


def group(row):
    """Place of a row in the order of work."""
    case = row["case"]
    if case["task"] == "classification":
        return 0
    if case["source"] == "transformers":
        return 3 if case["lora"] else 1
    return 2 if case["source"] == "module" else 4


def measured(row):
    """Fields of the CSV row that the measurement gives."""
    case, fields = row["case"], row["fields"]
    peak = 1 + fields.index("peak_allocated")
    phases = [(phase[peak], f"{index + 1} {phase[0]}")
              for index, step in enumerate(row["steps"]) for phase in step]
    options = "".join(f" {key}={value}" for key, value in
                      case["optimizer_options"].items() if key != "lr")
    found = dict(
        id=row["id"], source=case["source"], task=case["task"],
        model=case["model"], mode=case["mode"], precision=case["precision"],
        optimizer="" if case["mode"] == "inference"
        else case["optimizer"] + options,
        lora=bool(case["lora"]), batch=case["batch"],
        measured_allocated=row["peak_allocated"] / MIB,
        measured_reserved=row["peak_reserved"] / MIB,
        measured_phase=max(phases, key=lambda one: one[0])[1])
    process = row["nvml"]["end"]["process"]
    if process:
        reserved = row["steps"][-1][-1][1 + fields.index("reserved")]
        found.update(measured_total=process / MIB,
                     measured_context=(process - reserved) / MIB)
    return found


def joined(row, prediction):
    """A row of the CSV."""
    found = {**measured(row), **prediction}
    for what in WHAT:
        one, other = found.get(f"measured_{what}"), found.get(
            f"predicted_{what}")
        if one and other is not None:
            found[f"error_{what}"] = 100 * (other / one - 1)
    return {key: f"{value:.2f}" if isinstance(value, float) else value
            for key, value in found.items()}


# --- the parent ---------------------------------------------------------------


def nms_of_python():
    """torchvision's own operators by name only, for a torchvision whose library
    does not fit this torch."""
    import torch
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, "
                       "float iou_threshold) -> Tensor")
    library.impl("nms", lambda b, s, t: s.argsort(descending=True)[:50], "CPU")
    import torchvision.ops.boxes
    torchvision.ops.boxes._assert_has_ops = lambda: None
    return library


def import_libraries(arguments):
    """Imports for all children; what the caller must keep alive."""
    sys.path += arguments.site
    import torch
    torch.set_num_threads(1)
    kept = []
    if arguments.site:
        with contextlib.suppress(Exception):
            kept.append(nms_of_python())
    for name in ("timm", "torchvision", "transformers", "peft", "foretell"):
        try:
            importlib.import_module(name)
        except Exception as error:
            print(f"{name}: {one_line(error)}", file=sys.stderr)
    # What the first export imports, once for all children.
    import foretell
    foretell.predict(torch.nn.Linear(2, 2), torch.empty(1, 2))
    return kept


def in_child(case, arguments):
    """predicted(case) in a process of its own, within the limit of processor
    time, or several times that on the clock."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(False)

    def work():
        os.setsid()
        # No orphans; foretell's own process has a limit of the same size.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_CPU, (arguments.limit,) * 2)
        there.send(predicted(case, arguments))

    child = context.Process(target=work)
    begin = time.monotonic()
    child.start()
    there.close()
    answer = None
    if here.poll(CLOCK_FACTOR * arguments.limit):
        with contextlib.suppress(EOFError):
            answer = here.recv()
    elif child.is_alive():
        answer = {"status": "timeout"}
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # With the program that it started.
    child.join(5)
    if answer is None:
        late = child.exitcode in (-signal.SIGXCPU, -signal.SIGKILL)
        answer = {"status": "timeout" if late else "failed",
                  "error": f"exit {child.exitcode}"}
    answer.setdefault("seconds", round(time.monotonic() - begin, 1))
    return answer


def done_ids(path, again):
    """Ids in the CSV; rows to predict once more are taken out of it."""
    if not path or not os.path.exists(path):
        return set()
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    if again:
        rows = [r for r in rows if not re.search(
            again, f"{r['id']} {r['status']} {r['notes']} {r['error']}")]
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    return {row["id"] for row in rows}


# --- summary -----------------------------------------------------------------


def cell(rows, what):
    values = [float(r[f"error_{what}"]) for r in rows if r[f"error_{what}"]]
    if not values:
        return "–"
    return (f"{statistics.median(map(abs, values)):.1f} / "
            f"{statistics.median(values):+.1f}")


def summary(path):
    """Median |error| / median error in percent, and how many are done."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    print(dict(collections.Counter(r["status"] for r in rows)))
    groups = collections.defaultdict(list)
    for row in rows:
        if row["status"] == "ok":
            kind = row["source"]
            if kind == "torchvision":
                kind += " " + row["task"]
            if row["lora"] == "True":
                kind += " LoRA"
            for key in ((kind, row["mode"], row["precision"]),
                        (kind, "all", ""), ("all", "", "")):
                groups[key].append(row)
    print("| source | mode | precision | n |",
          *(f"{what} |" for what in WHAT))
    print("|---|---|---|---:|" + "---:|" * len(WHAT))
    for key in sorted(groups):
        print("|", " | ".join(key), "|", len(groups[key]), "|",
              *(f"{cell(groups[key], what)} |" for what in WHAT))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--out", help="CSV that is continued; else stdout")
    parser.add_argument("--only", help="regular expression of ids")
    parser.add_argument("--again", help="regular expression")
    parser.add_argument("--limit", type=int, default=90,
                        help="seconds of processor time per case")
    parser.add_argument("--count", type=int)
    parser.add_argument("--device", default="h100-sxm5-80gb")
    parser.add_argument("--torch", default="2.11")
    parser.add_argument("--site", action="append", default=[],
                        help="folder of further packages (timm, torchvision)")
    parser.add_argument("--summary", action="store_true")
    arguments = parser.parse_args()
    if arguments.summary:
        return summary(arguments.out)
    done = done_ids(arguments.out, arguments.again)
    rows = sorted(read_rows(arguments.rows), key=group)
    rows = [r for r in rows if r["id"] not in done and (
        not arguments.only or re.search(arguments.only, r["id"]))]
    kept = import_libraries(arguments)
    new = not (arguments.out and os.path.exists(arguments.out)
               and os.path.getsize(arguments.out))
    with open(arguments.out, "a", newline="") if arguments.out else (
            contextlib.nullcontext(sys.stdout)) as out:
        writer = csv.DictWriter(out, COLUMNS)
        if new:
            writer.writeheader()
        for row in rows[:arguments.count]:
            writer.writerow(joined(row, in_child(row["case"], arguments)))
            out.flush()
    del kept


if __name__ == "__main__":
    main()
