"""Models that a text names and this process makes: "net.py:Net", and networks of
transformers by the folder or Hub name of their config.json."""

from __future__ import annotations

import ast
import importlib.util
import os
import pathlib
import sys
from typing import Any

from ._errors import Error

CONFIG = "config.json"
MODEL_ENDINGS = (".onnx", ".pt", ".pth", ".pt2", ".h5", ".keras", ".tflite", ".pdmodel")


def _classes(file: pathlib.Path) -> list[str]:
    """Names of the classes of a file, which is not run."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:
        raise Error(f"{file}: {error}", "corrupt") from None
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef)]


def _imported(file: pathlib.Path) -> Any:
    """The module of a file, which is run, with its folder on the path."""
    spec = importlib.util.spec_from_file_location(f"foretell_of_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise Error(f"{file}: no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it there
    sys.path.insert(0, str(file.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise Error(f"{file}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    return module


def _made(make: Any, name: str) -> Any:
    """The module that a class or a function makes, on the meta device if it can."""
    import torch

    if isinstance(make, torch.nn.Module):
        return make
    if not callable(make):
        raise Error(f"{name} is a {type(make).__name__}, expected a class or function "
                    "that makes an nn.Module")
    try:
        with torch.device("meta"):
            made = make()
    except Exception:  # Whatever its code does with values that are not there.
        try:
            made = make()
        except Exception as error:
            raise Error(f"{name}(): {type(error).__name__}: {error}; a function without "
                        "arguments in that file may make the module") from error
    if not isinstance(made, torch.nn.Module):
        raise Error(f"{name}() gives a {type(made).__name__}, expected an nn.Module")
    return made


def of_python_file(text: str) -> Any:
    """The module that "net.py:Net" names, made by its class or function; None for a
    text of another form. The file is run in this process.

    Raises Error where the file has no such name or cannot make the module.
    """
    path, colon, name = text.rpartition(":")
    if not colon:
        path, name = text, ""
    if not path.endswith(".py") or not os.path.isfile(path):
        return None
    file = pathlib.Path(path)
    known = _classes(file)
    if not name:
        example = next(iter(known), "Net")
        raise Error(f"{path}: name the class that is meant: '{path}:{example}'")
    module = _imported(file)
    if not hasattr(module, name):
        raise Error(f"{path}: has no '{name}'; its classes are: "
                    f"{', '.join(known) or 'none'}", "not_found")
    return _made(getattr(module, name), f"{path}:{name}")


def _cache_of_hub() -> pathlib.Path:
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
        "huggingface")
    return pathlib.Path(os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub"))


def _in_hub_cache(name: str) -> pathlib.Path | None:
    """The folder of the newest snapshot of a Hub name on this machine."""
    repository = _cache_of_hub() / ("models--" + name.replace("/", "--"))
    snapshots = [one.parent for one in repository.glob(f"snapshots/*/{CONFIG}")]
    main = repository / "refs" / "main"
    if main.is_file():
        newest = repository / "snapshots" / main.read_text(encoding="utf-8").strip()
        if newest in snapshots:
            return newest
    return max(snapshots, key=lambda one: one.stat().st_mtime, default=None)


def _is_hub_name(text: str) -> bool:
    return (text.count("/") <= 1 and not text.startswith((".", "/", "~"))
            and pathlib.Path(text).suffix.lower() not in MODEL_ENDINGS
            and ":" not in text and not os.path.exists(text))


def folder_of_transformers(text: str) -> pathlib.Path | None:
    """The folder with the config.json of a network of transformers: `text` itself, or
    that of the Hub name in the local cache; None for anything else, which the program
    looks up or refuses. No network access."""
    if importlib.util.find_spec("transformers") is None:
        return None
    if os.path.isfile(os.path.join(text, CONFIG)):
        return pathlib.Path(text)
    return cached_folder(text)


def cached_folder(text: str) -> pathlib.Path | None:
    """The folder of a Hub name's config.json in the local cache; None for another
    text, and where the cache lacks it."""
    return _in_hub_cache(text) if _is_hub_name(text) else None
