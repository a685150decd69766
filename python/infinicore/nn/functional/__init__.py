"""Functions of neural networks. They take the arguments of torch's functions of the same names."""

from infinicore._modules import modules_of

__all__: list[str] = []

for _module in modules_of(__name__, list(__path__)):
    for _name in _module.__all__:
        globals()[_name] = getattr(_module, _name)
        __all__.append(_name)

del _module, _name, modules_of
