from .modules import Linear4bit, Linear8bitLt  # noqa: F401
