"""Published measurements and exported networks, which lie beside the repository.

They are tables (CSV, some gzipped) in ../shared/data and archives of weight-free
networks, each with a truth.csv, in ../shared/models. Neither is part of the
repository; `need` says so where they are absent.
"""

import contextlib
import csv
import dataclasses
import gzip
import pathlib
import statistics
import sys
import tarfile
import tempfile

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
TABLES, MODELS = SHARED / "data", SHARED / "models"
ONNX_NETWORKS = MODELS / "timm_onnx.tar.xz"
TRAINING_TRACES = MODELS / "timm_torchscript_train.tar.xz"
FINETUNING = TABLES / "runs2026" / "train_memory_finetuning.csv.gz"
TRAINING_MEMORY = TABLES / "training_memory_timm_a100.csv.gz"
THROUGHPUT = TABLES / "timm_throughput_other_gpus.csv.gz"
# The memory table was made with a timm of 1.0.9 to 1.0.12, where these networks had
# another default image size (sam2_hiera_tiny, ese_vovnet57b, mobilenetv3_large_150d),
# other layers (ecaresnext50t_32x4d), or computed the same with other operators. What
# the table itself says that autograd saves (FakeTensor) differs from the exports' by
# 4 % at least for each of them, by 0.2 % (median) for the others:
# compare_forward_memory.py. Both must hold; a measured peak decides nothing.
CHANGED_SINCE_MEASURED = {
    "ecaresnext50t_32x4d", "ese_vovnet57b", "hiera_base_224",
    "hiera_base_abswin_256", "hiera_base_plus_224", "hiera_huge_224",
    "hiera_small_224", "hiera_tiny_224", "hieradet_small",
    "mobilenetv3_large_150d", "sam2_hiera_tiny", "tnt_b_patch16_224",
    "tnt_s_patch16_224", "vit_base_patch16_xp_224", "vit_huge_patch14_xp_224",
    "vit_large_patch14_xp_224"}


def need(*paths):
    """Ends the script where one of the files is absent."""
    for path in paths:
        if not path.exists():
            sys.exit(f"{path} is absent: it is shared data, not part of the "
                     "repository")


def rows(path):
    """The rows of a table as dicts, gzipped or not."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as table:
        return list(csv.DictReader(table))


def kept(path, kind, collect):
    """Rows of the dataclass `kind` from the table at `path`. If the file does not exist,
    those that `collect` returns, which are written there if a path is given."""
    fields = dataclasses.fields(kind)
    if path and path.exists():
        return [kind(*(field.type(row[field.name]) for field in fields))
                for row in rows(path)]
    found = list(collect())
    if path:
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(field.name for field in fields)
            table.writerows(map(dataclasses.astuple, found))
    return found


@contextlib.contextmanager
def unpacked(archive, inside="truth.csv"):
    """The folder of `archive` that holds the networks and a file like `inside`.

    `archive` may be such a folder itself; gone at the end where it was none.
    """
    if archive.is_dir():
        yield archive
        return
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
        yield next(pathlib.Path(folder).rglob(inside)).parent


def truth(folder):
    """The rows of the folder's truth.csv by network."""
    return {row["model"]: row for row in rows(folder / "truth.csv")}


def error_cells(errors, between=" | "):
    """Median and mean absolute error and signed median of relative errors, in percent,
    as cells of a table; dashes where there are none."""
    if not errors:
        return between.join("–––")
    percents = [100 * error for error in errors]
    sizes = [abs(percent) for percent in percents]
    return between.join((f"{statistics.median(sizes):.1f}",
                         f"{statistics.fmean(sizes):.1f}",
                         f"{statistics.median(percents):+.1f}"))


def input_flag(shape, batch):
    """The `--input` of a TorchScript trace, from "3x224x224" of truth.csv."""
    return f"f32[{batch},{shape.replace('x', ',')}]"
