"""Operators for which the back ends of ascend, cambricon and kunlun call the vendor's library: the
called functions, results as on the CPU, and rejected cases with the reason."""

from __future__ import annotations

import re

from kit import process
from kit.binding import root

from .accelerator import build
from .test_accelerators import libraries, run, vendor

__all__ = ["libraries", "vendor"]  # fixtures

# Lines of a program: a call on tensors of the device, and the expected library function.
F = "ic.nn.functional"
ASCEND = {
    f"{F}.rms_norm(x, [32], w, 1e-5)": "aclnnRmsNorm",
    f"{F}.layer_norm(x, [32], w, w, 1e-5)": "aclnnLayerNorm",
    f"{F}.softmax(x, -1)": "aclnnSoftmax",
    f"{F}.log_softmax(x, 0)": "aclnnLogSoftmax",
    f"{F}.causal_softmax(h)": "aclnnInplaceMaskedFillScalar",
    f"{F}.silu(x)": "aclnnSilu",
    f"{F}.gelu(x)": "aclnnGeluV2",
    f"{F}.swiglu(x, x)": "aclnnSwiGlu",
    f"{F}.embedding(i, x)": "aclnnEmbedding",
    "ic.op.rope(y, p, c, d, algo=0)": "aclnnRotaryPositionEmbedding",
    "ic.op.rope(y, p, c, d, algo=1)": "aclnnRotaryPositionEmbedding",
    f"{F}.scaled_dot_product_attention(q, q, q)": "aclnnPromptFlashAttentionV3",
    "ic.sort(x, 1)[0]": "aclnnSort",
    "ic.topk(x, 3)[1]": "aclnnTopk",
    "x.permute([1, 0]).contiguous()": "aclnnInplaceCopy",
    "x.to(ic.float16)": "aclnnCast",
    "ic.argmax(x, 1)": "aclnnArgMax",
    "ic.argmin(x)": "aclnnArgMin",
    "ic.index_select(x, 0, i)": "aclnnIndexSelect",
    "ic.gather(x, 1, j)": "aclnnGather",
    "ic.take(x, i)": "aclnnIndexSelect",
    "ic.cumsum(x, 0)": "aclnnCumsum",
    "ic.op.int8_gemm(a, s, b, t, out=ic.empty((4, 5), dtype=ic.float16, device=a.device))": (
        "aclnnQuantMatmulV4"
    ),
}
CAMBRICON = {
    f"{F}.rms_norm(x, [32], w, 1e-5)": "cnnlRmsNormForward",
    f"{F}.silu(x)": "cnnlActivationForward",
    f"{F}.relu(x.permute([1, 0]))": "cnnlActivationForward",
    f"{F}.sigmoid(h)": "cnnlActivationForward",
    f"{F}.tanh(x)": "cnnlActivationForward",
    f"{F}.scaled_dot_product_attention(q, q, q)": "cnnlFlashAttentionForward",
    f"{F}.scaled_dot_product_attention(q, q, q, is_causal=True)": "cnnlFlashAttentionForward",
    "ic.op.rope(y, p, c, d, algo=0)": "cnnlOpTensor",
    "ic.op.rope(y, p, c, d, algo=1)": "cnnlOpTensor",
    f"{F}.layer_norm(x, [32], w, w, 1e-5)": "cnnlLayerNormForward",
    f"{F}.softmax(x, -1)": "cnnlSoftmaxForward_v2",
    f"{F}.log_softmax(x, 0)": "cnnlSoftmaxForward_v2",
    f"{F}.causal_softmax(h)": "cnnlMaskedSoftmax",
    f"{F}.embedding(i, x)": "cnnlEmbeddingForward_v2",
    "ic.sort(x, 1)[0]": "cnnlTopKTensor_v3",
    "ic.topk(x, 3)[1]": "cnnlTopKTensor_v3",
    "x.permute([1, 0]).contiguous()": "cnnlCopy",
    "w.expand((3, 32)).contiguous()": "cnnlExpand",
}
KUNLUN = {"x.permute([1, 0]).contiguous()": "xpu_memcpy_async"}
BY_LIBRARY = {"ascend": ASCEND, "cambricon": CAMBRICON, "kunlun": KUNLUN}

TENSORS = """
import numpy as np, infinicore as ic
random = np.random.default_rng(5)
arrays = {
    "x": random.standard_normal((6, 32)).astype("float32"),
    "w": random.standard_normal(32).astype("float32"),
    "h": random.standard_normal((2, 4, 7)).astype("float16"),
    "q": random.standard_normal((1, 2, 5, 32)).astype("float16"),
    "i": np.array([3, 0, 5], "int64"),
    "j": np.array([[3, 31, 0]] * 6, "int64"),
    "a": random.integers(-127, 128, (4, 16)).astype("int8"),
    "b": random.integers(-127, 128, (16, 5)).astype("int8"),
    "s": random.random(4).astype("float32"),
    "y": random.standard_normal((5, 2, 16)).astype("float16"),
    "p": np.array([3, 0, 5, 6, 1], "int64"),
    "c": random.standard_normal((7, 8)).astype("float16"),
    "d": random.standard_normal((7, 8)).astype("float16"),
    "t": (random.random(5) / 127).astype("float32"),
}
"""


def test_by_the_library(vendor, libraries):
    said = run(
        vendor,
        libraries,
        f"""{TENSORS}
for text, function in {BY_LIBRARY[vendor]!r}.items():
    results = []
    before = calls(function)
    for kind in ("cpu", {vendor!r}):
        rt.set_kind(kind)
        tensors = {{name: ic.from_numpy(array).to(kind) for name, array in arrays.items()}}
        results.append(np.array(eval(text, {{"ic": ic, **tensors}}).to("cpu"), "float64"))
    far = np.abs(results[0] - results[1]).max()
    if calls(function) == before or far > 4e-3 * max(1, np.abs(results[0]).max()):
        print(text, function, calls(function) - before, far)
print("checked")
""",
    )
    assert said == ["checked"]


def test_what_is_refused_says_why(vendor, libraries):
    said = run(
        vendor,
        libraries,
        f"""{TENSORS}
q = ic.from_numpy(arrays["q"].astype("float32")).to({vendor!r})
try:
    ic.nn.functional.scaled_dot_product_attention(q, q, q)
except Exception as error:
    print(str(error).replace(chr(10), " "))
""",
    )
    reason = {
        "ascend": "aclnnPromptFlashAttentionV3 takes F16 or BF16",
        "cambricon": "cnnlFlashAttentionForward takes F16 or BF16",
        "kunlun": "XDNN has other operators, but its functions are C++",
    }
    assert reason[vendor] in said[0]


def test_numbers_come_from_the_header_or_from_nowhere(tmp_path):
    """Without cnnl.h the plain engine runs operators with a program, and the rest is rejected."""
    from kit.binding import root

    folder = build.folder("cambricon", root())
    for name in build.LIBRARIES["cambricon"]:
        (tmp_path / name).symlink_to(folder / name)
    said = run(
        "cambricon",
        tmp_path,
        f"""{TENSORS}
x = ic.from_numpy(arrays["x"]).to("cambricon")
print(abs(float(ic.nn.functional.softmax(x, -1).sum().to("cpu").item()) - 6) < 1e-4)
print(calls("cnnlSoftmaxForward_v2"))
try:
    ic.nn.functional.causal_softmax(ic.from_numpy(arrays["h"]).to("cambricon"))
except Exception as error:
    print(str(error).replace(chr(10), " "))
""",
    )
    assert said[:2] == ["True", "0"]
    assert "CNNL_MASKED_SOFTMAX_MASKED_FILL_NEG_INF is not in" in said[2]
    assert "or not in its header cnnl.h and cnnl_extra.h" in said[2]


def test_operators_without_functions_say_why(vendor, libraries):
    said = run(
        vendor,
        libraries,
        f"""{TENSORS}
def refused(call):
    try:
        call()
    except Exception as error:
        print(str(error).replace(chr(10), " "))
def there(array): return ic.from_numpy(array).to({vendor!r})
codes = there(arrays["a"])
s, t, b = (there(arrays[name]) for name in "stb")
out = ic.empty((4, 5), dtype=ic.float16, device={vendor!r})
if {vendor!r} != "ascend":
    refused(lambda: ic.op.int8_gemm(codes, s, b, t, out=out))
x = there(arrays["h"])
words = there(np.zeros((8, 1), "int32"))
refused(lambda: ic.op.dequantize_awq(
    words, there(np.ones((1, 8), "float16")), there(np.zeros((1, 1), "int32"))))
""",
    )
    product = {
        "cambricon": "cnnlQuantizeBatchMatMul has one scale for a matrix",
        "kunlun": "no public source has the types and scales of XPU BLAS's integer products",
    }
    if vendor in product:
        assert product[vendor] in said[0]
    assert "eight columns in AWQ's order" in said[-1]
    assert len(said) == 1 + (vendor in product)


def test_rows_name_functions_of_the_facts(vendor):
    known = {
        symbol
        for part in build.facts(vendor)
        for fact in part["functions"].values()
        for symbol in re.findall(r"\w+(?=\()", fact["signature"])
    }
    files = sorted((process.PROJECT / "backends" / vendor).glob("*.cc"))
    # cnnl.cc knows older names too.
    text = "".join(path.read_text() for path in files if path.name != "cnnl.cc")
    named = set(re.findall(r"\"((?:aclnn|cnnl)[A-Z]\w+)\"", text))
    assert named <= known, named - known
    assert len(named) >= len(set(BY_LIBRARY[vendor].values())) - 1


def test_products_of_nothing(vendor, libraries):
    """Products with an empty result, or an empty sum, which libraries reject."""
    said = run(
        vendor,
        libraries,
        f"""
import numpy as np, infinicore as ic
def make(*shape): return (ic.empty if 0 in shape else ic.ones)(shape, device={vendor!r})
for a, b in (((3, 0), (0, 4)), ((2, 3, 0), (2, 0, 4)), ((0, 3), (3, 4)), ((0, 2, 3), (0, 3, 4))):
    out = ic.matmul(make(*a), make(*b)).to("cpu")
    print(list(out.shape), not np.array(out).any())
if {vendor!r} != "kunlun": print(ic.sort(make(3, 0))[0].numel(), ic.topk(make(3, 5), 0)[0].numel())
c = make(2, 3)
ic.op.gemm(make(2, 0), make(0, 3), out=c, alpha=1.0, beta=3.0)
print(bool((np.array(c.to("cpu")) == 3).all()))
""",
    )
    products = [f"{size} True" for size in ([3, 4], [2, 3, 4], [0, 4], [0, 2, 4])]
    assert said == [*products, *(["0 0"] if vendor != "kunlun" else []), "True"]


def test_failures_while_a_plan_runs():
    """A library that fails in the stream's worker gives an error with the function's name, and
    keeps no descriptor."""
    code = """
import numpy as np, infinicore as ic
tensors = [ic.ones(shape, device={0!r}) for shape in ((2, 3, 5, 8),) * 2 + ((2, 3, 2, 8),) * 2]
past = ic.from_numpy(np.array([1, 3])).to({0!r})
for function in {1}:
    made = calls("cnnlSetTensorDescriptorEx") - calls("cnnlDestroyTensorDescriptor")
    ic.op.kv_caching(*tensors, past)
    rt.DeviceSynchronize()
    fail(function, 8)
    try:
        ic.op.kv_caching(*tensors, past)
        rt.DeviceSynchronize()
    except Exception as error:
        print(function + " returned 8" in str(error))
    print(calls("cnnlSetTensorDescriptorEx") - calls("cnnlDestroyTensorDescriptor") - made)
"""
    for kind, functions in (
        ("cambricon", ["cnnlCreateTensorDescriptor", "cnnlSetTensorDescriptorEx", "cnnlCopy"]),
        ("ascend", ["aclrtMemcpy", "aclnnInplaceCopy"]),
    ):
        folder = build.folder(kind, root())
        assert run(kind, folder, code.format(kind, functions)) == ["True", "0"] * len(functions)


def test_sizes_and_strides_of_more_than_32_bits():
    """CNNL's descriptors and XPU BLAS's parameters are ints."""
    code = """
import infinicore as ic
x = ic.ones((4, 4), device={!r})
print(ic.matmul(x.as_strided((1, 4), (1 << 33, 1)), x).numel())
try: ic.matmul(x.as_strided((2, 1 << 32), (0, 0)), x.as_strided((1 << 32, 2), (0, 0)))
except Exception as error: print(error)
"""
    for kind in ("cambricon", "kunlun"):
        said = run(kind, build.folder(kind, root()), code.format(kind))
        assert said[0] == "4"
        assert "sizes and strides of 32 bits, and one is 4294967296" in said[1]
