"""What stands for a model in the arguments, as words of a command line."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import sys
import tempfile
import weakref
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Union

from . import _command, _source
from ._errors import Error
from ._flags import to_words

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

    Model = Union[str, "os.PathLike[str]", torch.nn.Module, ExportedProgram]
else:
    Model = Any
ZOO = "zoo:"
NO_CHANGE = "does not change them"
NOTHING_AGAIN = "keeps a tensor that could be recomputed"


@dataclasses.dataclass
class Opened:
    """A model that the program can read, for as long as this object lives."""

    path: str
    name: str
    """What messages and answers call it."""
    found: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Options that the model itself implies; those of the caller come first."""

    def words(self, command: str, options: Mapping[str, Any]) -> list[str]:
        asked = {name: value for name, value in options.items() if value is not None}
        return [command, self.path, *to_words({**self.found, **asked})]

    def run_json(self, words: Collection[str],
                 accept: Collection[int] = (_command.DONE,)) -> dict[str, Any]:
        """As _command.run_json; files of our own have their model's name."""
        return self.run_document(words, accept)[1]

    def run_document(self, words: Collection[str],
                     accept: Collection[int] = (_command.DONE,)
                     ) -> tuple[int, dict[str, Any]]:
        """The same with the exit status."""
        try:
            status, document = _command.run_document(words, accept)
        except Error as error:
            raise Error(self.named(str(error)), error.code) from None
        again = f"--recompute={self.found.get('recompute')}"
        if again in words and any(NOTHING_AGAIN in error["message"]
                                  for error in document.get("errors", ())):
            # Checkpoints around frozen modules keep nothing.
            return self.run_document([one for one in words if one != again], accept)
        return status, self._rename(document)

    def named(self, text: str) -> str:
        """The text with the model's name for the path of a file of our own."""
        return text.replace(self.path, self.name)

    def _is_idle(self, value: Any) -> bool:
        """A module that was cast has the type of `precision` already."""
        return bool(self.found) and isinstance(value, str) and NO_CHANGE in value

    def _rename(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._rename(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._rename(one) for one in value if not self._is_idle(one)]
        return self.named(value) if isinstance(value, str) else value


def _is_torch(model: Any, name: str) -> bool:
    """Whether `model` is an instance of torch's class of that dotted name. Asks
    nothing of torch, which may not be there, unless it has been imported."""
    value: Any = sys.modules.get("torch")
    for word in name.split("."):
        value = getattr(value, word, None)
    return isinstance(value, type) and isinstance(model, value)


def is_module(model: Any) -> bool:
    """Whether `model` is an nn.Module; TorchScript's are some, too."""
    return _is_torch(model, "nn.Module")


def open_path(model: Union[str, "os.PathLike[str]"], inputs: Any) -> Opened:
    """A path or a name that the program reads. Raises Error for inputs, which are for
    modules."""
    path = os.fspath(model)
    if inputs is not None:
        raise Error(f"{path}: inputs are for modules in memory, got "
                    f"{type(inputs).__name__}; for a file input='f32[8,3,224,224]' "
                    "and batch=8")
    # The program would take it for a flag.
    return Opened(f"./{path}" if path.startswith("-") else path, path)


def _of_text(text: str, inputs: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """The module that a text names, and its inputs; the text itself where the program
    reads what it names."""
    module = _source.of_python_file(text)
    if module is not None:
        return module, inputs
    folder = None if text.startswith(ZOO) else _source.folder_of_transformers(text)
    if folder is None:
        return text, inputs
    from ._hugging_face import from_folder

    made, example = from_folder(folder, options)
    return made, example if inputs is None else inputs


def _refuse_others(model: Any, inputs: Any) -> None:
    """Raises Error for what is no model, and for a module without inputs."""
    if not is_module(model) and not _is_torch(model, "export.ExportedProgram"):
        raise Error(f"model is a {type(model).__name__}, expected an nn.Module, an "
                    "ExportedProgram, a path, or 'zoo:NAME'")
    if _is_torch(model, "jit.ScriptModule"):
        raise Error(f"{type(model).__name__}: TorchScript is read from a file: "
                    "model.save('model.pt'), then 'model.pt' in place of the model, and "
                    "input='f32[8,3,224,224]'", "unsupported")
    if is_module(model) and inputs is None:
        raise Error(f"{type(model).__name__}: a module says nothing of its inputs; "
                    "give an example, e.g. torch.empty(8, 3, 224, 224), or its sizes: "
                    "(8, 3, 224, 224)")


def _file_of(program: Any, name: str, mode: str | None, found: Mapping[str, Any]) -> Opened:
    """The program in a file of ours, deleted with the result."""
    from ._export import to_file

    folder = pathlib.Path(tempfile.mkdtemp(prefix="foretell-"))
    try:
        path = to_file(program, folder, name, mode)
    except BaseException:
        shutil.rmtree(folder)
        raise
    opened = Opened(str(path), name, found)
    weakref.finalize(opened, shutil.rmtree, folder, ignore_errors=True)
    return opened


def open_model(model: Model, inputs: Any, options: dict[str, Any],
               any_batch: bool = False) -> Opened:
    """A path or a name as it is; a module or an exported program in a file of ours,
    deleted with the result and with the module. With `any_batch`, or where options
    name batches, its batch is left open.

    Raises Error for anything else, and where a module cannot be exported.
    """
    source: Any = model
    if isinstance(model, str):
        source, inputs = _of_text(model, inputs, options)
    if isinstance(source, (str, os.PathLike)):
        return open_path(source, inputs)
    _refuse_others(source, inputs)
    if not is_module(source):
        return _file_of(source, type(source).__name__, None, {})
    from ._modules import open_module  # torch takes seconds to import

    return open_module(source, inputs, options, any_batch, _file_of)
