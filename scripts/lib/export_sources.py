"""Networks of public libraries with inputs to export them on. Each function of
SOURCES returns the names that a library has and what makes (model, args, kwargs)
of one, under `torch.device("meta")`; nothing is downloaded. `tried_on_meta` is how the
Python package exports them."""

import inspect
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python/converters"))
from huggingface import BATCH, inputs_of, of_package  # noqa: E402

tried_on_meta = of_package("_on_meta").tried_on_meta


def timm_networks():
    libraries = [declare_nms()]
    import timm

    def build(name, keep=libraries):
        model = timm.create_model(name, pretrained=False)
        size = model.pretrained_cfg.get("input_size", (3, 224, 224))
        return model, (torch.zeros(BATCH, *size),), {}

    return timm.list_models(), build


def declare_nms():
    """torchvision's wheel for another torch brings no operators along."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores,"
                       " float iou_threshold) -> Tensor")
    return library


def define_nms():
    """Its shape, and its result on the CPU, which drafts compute."""
    torch.library.register_fake("torchvision::nms", lambda boxes, scores, iou:
                                boxes.new_empty(
                                    torch.library.get_ctx().new_dynamic_size(),
                                    dtype=torch.long))
    library = torch.library.Library("torchvision", "IMPL", "CPU")
    library.impl("nms", suppressed)
    return library


def suppressed(boxes, scores, iou):
    """Boxes that no better one overlaps by more than `iou`, best first."""
    left, top, right, bottom = boxes.unbind(1)
    area = (right - left) * (bottom - top)
    order, kept = scores.argsort(descending=True), []
    while order.numel() > 0:
        best, order = order[0], order[1:]
        kept.append(best)
        width = torch.minimum(right[best], right[order]) - torch.maximum(
            left[best], left[order])
        height = torch.minimum(bottom[best], bottom[order]) - torch.maximum(
            top[best], top[order])
        common = width.clamp(min=0) * height.clamp(min=0)
        order = order[common / (area[best] + area[order] - common) <= iou]
    return torch.stack(kept) if kept else boxes.new_zeros(0, dtype=torch.long)


def torchvision_networks():
    libraries = [declare_nms()]
    import torchvision
    from torchvision import models

    torchvision.extension._assert_has_ops = lambda: None
    libraries.append(define_nms())
    detection = set(models.list_models(module=models.detection))
    video = set(models.list_models(module=models.video))
    flow = set(models.list_models(module=models.optical_flow))
    names = [name for name in models.list_models()
             if not name.startswith("quantized_")]

    def build(name, keep=libraries):
        flags = {"weights": None}
        if "weights_backbone" in inspect.signature(
                models.get_model_builder(name)).parameters:
            flags["weights_backbone"] = None
        model = models.get_model(name, **flags)
        if name in detection:
            return model, ([torch.rand(3, 320, 320)],), {}
        if name in video:
            return model, (torch.zeros(BATCH, 3, 16, 224, 224),), {}
        if name in flow:
            image = torch.zeros(BATCH, 3, 128, 128)
            return model, (image, image), {}
        size = 299 if "inception" in name else 224
        return model, (torch.zeros(BATCH, 3, size, size),), {}

    return names, build


def shorten(config):
    """Leaves two layers, as more would repeat them, where layers are in no stages."""
    if hasattr(config, "depths") or hasattr(config, "block_sizes"):
        return
    for field in ("num_hidden_layers", "encoder_layers", "decoder_layers"):
        if isinstance(getattr(config, field, None), int):
            setattr(config, field, 2)


def transformers_networks():
    """The base network of every architecture as its configuration's defaults have
    it, but shortened."""
    libraries = [declare_nms()]
    from transformers import AutoModel
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    def build(name, keep=libraries):
        config = CONFIG_MAPPING[name]()
        config.use_cache = False
        config.architectures = config.architectures or []  # Funnel's are walked.
        shorten(config)
        model = AutoModel.from_config(config)
        return model, (), inputs_of(model)

    return sorted(CONFIG_MAPPING), build


SOURCES = {"timm": timm_networks, "torchvision": torchvision_networks,
           "transformers": transformers_networks}
