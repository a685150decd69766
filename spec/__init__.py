"""The API as data, from which every header, entry point, table, stub and page is derived.

    from spec import api, first

    api.groups[0].functions[0].params       # the aligned face: infinirt_runtime_api.h
    first.functions                         # the first-generation face: infinirt.h

`api` and `first` are built from the text blocks in `spec/runtime/` and `spec/first_generation.py`
by the parsers in `spec/model.py`, where the text form and all dataclasses are described.
"""

from .load import Api, First, load_api, load_first

first: First = load_first()
api: Api = load_api(first)

__all__ = ["Api", "First", "api", "first"]
