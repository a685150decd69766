"""Writes a GGUF file with the matrices of another one in another format.

    python benchmarks/requantise.py model.gguf Q8_0 model-q8_0.gguf
    infini bench model-q8_0.gguf --threads 2 --against llama.cpp

For comparisons of formats on one model: rounding twice costs accuracy, so the result is not for
use. Needs the package gguf.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import gguf

FORMATS = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")


def copy_fields(reader: gguf.GGUFReader, writer: gguf.GGUFWriter) -> None:
    for field in reader.fields.values():
        # The writer makes these itself.
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=inner)


def requantised(tensor: Any, wanted: Any) -> tuple[Any, Any]:
    """The data of a tensor, and its format: vectors are not converted."""
    columns = int(tensor.shape[0])
    if len(tensor.shape) < 2 or columns % gguf.GGML_QUANT_SIZES[wanted][0]:
        return tensor.data, tensor.tensor_type
    numbers = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    return gguf.quants.quantize(numbers, wanted), wanted


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("source", help="a GGUF file")
    parser.add_argument("format", choices=FORMATS)
    parser.add_argument("result", help="the file to write")
    options = parser.parse_args()
    reader, wanted = gguf.GGUFReader(options.source), gguf.GGMLQuantizationType[options.format]
    writer = gguf.GGUFWriter(
        options.result, reader.fields["general.architecture"].contents(), use_temp_file=False
    )
    copy_fields(reader, writer)
    for tensor in reader.tensors:
        data, kind = requantised(tensor, wanted)
        writer.add_tensor(tensor.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file(progress=sys.stderr.isatty())
    writer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
