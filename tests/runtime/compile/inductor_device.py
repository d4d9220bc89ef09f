"""Makes Inductor believe in an H100 that is not there.

`pretend()`, called after fake_cuda.load(), answers what Inductor asks of a
device before it generates code: whether there is one, and its properties.
"""

import types

_PROPERTIES = types.SimpleNamespace(
    name="NVIDIA H100 80GB HBM3", major=9, minor=0,
    multi_processor_count=132, regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048, max_threads_per_block=1024,
    warp_size=32, total_memory=80 << 30, L2_cache_size=50 << 20,
    shared_memory_per_block=49152, shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472)


def pretend():
    """Replaces the functions of torch.cuda that ask a driver."""
    # pylint: disable=import-outside-toplevel
    import torch
    from torch._dynamo.device_interface import CudaInterface

    answers = {
        "is_available": True, "device_count": 1, "current_device": 0,
        "set_device": None, "synchronize": None, "init": None,
        "_lazy_init": None, "_exchange_device": 0,
        "_maybe_exchange_device": 0, "get_device_properties": _PROPERTIES,
        "get_device_capability": (_PROPERTIES.major, _PROPERTIES.minor),
        "get_device_name": _PROPERTIES.name, "is_bf16_supported": True,
        "get_rng_state": torch.zeros(16, dtype=torch.uint8),
        "set_rng_state": None,
    }
    for name, answer in answers.items():
        def function(*_, answer=answer, **__):
            return answer
        setattr(torch.cuda, name, function)
        # It has taken the functions over by now.
        if name in vars(CudaInterface) and name != "is_available":
            setattr(CudaInterface, name, staticmethod(function))
    torch.version.cuda = "13.0"
