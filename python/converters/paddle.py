"""Paddle's inference models (.json or .pdmodel, with .pdiparams) as ONNX, by
paddle2onnx.

    python paddle.py MODEL OUTPUT.onnx NOTE
"""

import io
import pathlib
import subprocess
import sys

OPSET = 17


class NoProgram:
    """What starting a program gives here, where none can be started: paddle asks a
    shell while it is imported, and takes no answer for one."""

    returncode = 1

    def __init__(self, *words, **options):
        self.stdout, self.stderr = io.BytesIO(), io.BytesIO()

    def communicate(self, *words, **options):
        return b"", b"no program can be started"

    def wait(self, *words, **options):
        return self.returncode


def name_weights(model):
    """Makes initializers of the constants that paddle2onnx writes for weights, so that
    they count as parameters."""
    import onnx
    floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16,
              onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE)
    others = []
    for node in model.graph.node:
        tensor = next((a.t for a in node.attribute if a.name == "value"), None)
        if (node.op_type == "Constant" and tensor is not None and tensor.dims
                and tensor.data_type in floats):
            tensor.name = node.output[0]
            model.graph.initializer.append(tensor)
        else:
            others.append(node)
    del model.graph.node[:]
    model.graph.node.extend(others)


def main(model, output):
    subprocess.Popen = NoProgram
    import onnx
    import paddle2onnx
    weights = str(pathlib.Path(model).with_suffix(".pdiparams"))
    if not pathlib.Path(weights).exists():
        sys.exit(f"Error: {pathlib.Path(weights).name} is missing next to it")
    # Its tools for optimizing install packages while they run.
    paddle2onnx.export(model, weights, output, opset_version=OPSET,
                       optimize_tool="none")
    converted = onnx.load(output)
    name_weights(converted)
    onnx.save(converted, output)


if __name__ == "__main__":
    main(*sys.argv[1:3])
