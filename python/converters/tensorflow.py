"""Keras files, SavedModel folders and TensorFlow Lite files as ONNX, by tf2onnx.

    python tensorflow.py MODEL OUTPUT.onnx NOTE

NOTE becomes a text file with a sentence for the user, where there is one to say.
"""

import os
import pathlib
import sys

KERAS = (".keras", ".h5", ".hdf5")
OPSET = "17"


def fill(model):
    """Gives every weight values that differ. Those of a network that has not been
    trained are zero and one, and tf2onnx leaves out what adds or scales by them."""
    import numpy
    values = numpy.random.default_rng(0)
    for weight in model.weights:
        if "float" in str(weight.dtype):
            weight.assign(values.uniform(0.1, 1, weight.shape))


def saved_model_of(path):
    """A Keras file as a SavedModel folder. Layers that are code are refused."""
    import keras
    model = keras.saving.load_model(path, compile=False, safe_mode=True)
    fill(model)
    model.export("saved_model", verbose=False)
    return "saved_model"


def signature_of(folder):
    """The signature that is served: the default one, or the only one."""
    import tensorflow
    names = sorted(tensorflow.saved_model.load(folder).signatures)
    if "serving_default" in names or not names:
        return "serving_default"
    if len(names) > 1:
        sys.exit(f"Error: has the signatures {', '.join(names)}, expected one or "
                 "serving_default")
    return names[0]


def main(model, output):
    import tf2onnx.convert
    words = ["tf2onnx", "--opset", OPSET, "--output", output]
    if model.endswith(".tflite"):
        words += ["--tflite", model]
    else:
        folder = saved_model_of(model) if model.endswith(KERAS) else model
        words += ["--saved-model", folder, "--signature_def", signature_of(folder)]
    sys.argv = words
    tf2onnx.convert.main()


if __name__ == "__main__":
    main(*sys.argv[1:3])
