"""Functions of neural networks. They take the arguments of torch's functions of the same names."""

from infinicore._modules import modules_of
from infinicore._public import as_public

__all__: list[str] = []

for _module in modules_of(__name__, list(__path__)):
    for _name in _module.__all__:
        globals()[_name] = as_public(getattr(_module, _name))
        __all__.append(_name)

del _module, _name, as_public, modules_of
