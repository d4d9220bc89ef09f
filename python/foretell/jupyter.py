"""`%load_ext foretell`: predictions in a notebook.

    %foretell zoo:resnet50 --batch 8

    %%foretell --device h100-sxm5-80gb --mode training
    model = torchvision.models.resnet50()
    model, torch.empty(8, 3, 224, 224)
"""

from __future__ import annotations

import ast
import shlex
from typing import TYPE_CHECKING, Any

from ._api import predict
from ._errors import Error
from ._prediction import Prediction

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def options_of(line: str) -> tuple[list[str], dict[str, Any]]:
    """`zoo:vgg11 --batch 8 --grad` as (["zoo:vgg11"], {"batch": "8", "grad": True}).
    A word after a flag is its value."""
    words: list[str] = []
    options: dict[str, Any] = {}
    flag = None
    for word in shlex.split(line):
        if word.startswith("--"):
            flag, _, value = word[2:].replace("-", "_").partition("=")
            options[flag] = word.partition("=")[2] if value else True
            flag = None if value else flag
        elif flag:
            options[flag], flag = word, None
        else:
            words.append(word)
    return words, options


def _value_of(cell: str, variables: dict[str, Any]) -> Any:
    """Runs the cell; gives its last expression."""
    tree = ast.parse(cell)
    last = tree.body.pop() if tree.body else None
    if not isinstance(last, ast.Expr):
        raise Error("%%foretell: the last line of the cell must be a model, or a "
                    "model and its inputs")
    exec(compile(tree, "<cell>", "exec"), variables)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), variables)


def _predict(words: list[str], cell: str | None, options: dict[str, Any],
             variables: dict[str, Any]) -> Prediction:
    if cell is None:
        if len(words) != 1:
            raise Error(f"%foretell: got {len(words)} models, expected one")
        return predict(variables.get(words[0], words[0]), **options)
    value = _value_of(cell, variables)
    model, inputs = value if isinstance(value, tuple) else (value, None)
    return predict(model, inputs, **options)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Registers %foretell and %%foretell."""
    def foretell(line: str, cell: str | None = None) -> Prediction:
        words, options = options_of(line)
        return _predict(words, cell, options, shell.user_ns)

    register: Any = shell.register_magic_function
    register(foretell, "line_cell", "foretell")
