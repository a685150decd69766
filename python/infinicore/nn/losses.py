"""Losses as modules: a module holds the arguments of a call, as in `of_functions`.

A row of the table is the module's name, the function's, and the parameters of the module in torch's
order. `size_average` and `reduce` are deprecated forms of `reduction`. Weights are buffers.
"""

from __future__ import annotations

from typing import Any

from infinicore._tensor import Tensor
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.module import Module
from infinicore.nn.of_functions import bound_to, signature_of

_TABLE = """
L1Loss  l1_loss  @
MSELoss  mse_loss  @
SmoothL1Loss  smooth_l1_loss  @ beta=1.0
HuberLoss  huber_loss  reduction='mean' delta=1.0
KLDivLoss  kl_div  @ log_target=False
BCELoss  binary_cross_entropy  weight=None @
BCEWithLogitsLoss  binary_cross_entropy_with_logits  weight=None @ pos_weight=None
NLLLoss  nll_loss  weight=None size_average=None ignore_index=-100 reduce=None reduction='mean'
CrossEntropyLoss  cross_entropy  weight=None size_average=None ignore_index=-100 reduce=None reduction='mean' label_smoothing=0.0
PoissonNLLLoss  poisson_nll_loss  log_input=True full=False size_average=None eps=1e-08 reduce=None reduction='mean'
GaussianNLLLoss  gaussian_nll_loss  * full=False eps=1e-06 reduction='mean'
SoftMarginLoss  soft_margin_loss  @
HingeEmbeddingLoss  hinge_embedding_loss  margin=1.0 @
CosineEmbeddingLoss  cosine_embedding_loss  margin=0.0 @
MarginRankingLoss  margin_ranking_loss  margin=0.0 @
MultiMarginLoss  multi_margin_loss  p=1 margin=1.0 weight=None @
MultiLabelMarginLoss  multilabel_margin_loss  @
MultiLabelSoftMarginLoss  multilabel_soft_margin_loss  weight=None @
TripletMarginLoss  triplet_margin_loss  margin=1.0 p=2.0 eps=1e-06 swap=False @
TripletMarginWithDistanceLoss  triplet_margin_with_distance_loss  * distance_function=None margin=1.0 swap=False reduction='mean'
CTCLoss  ctc_loss  blank=0 reduction='mean' zero_infinity=False
"""  # noqa: E501
_BUFFERS = ("weight", "pos_weight")
_OLDER = ("size_average", "reduce")


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def _loss(name: str, function: str, words: list[str]) -> Any:
    work, signature = getattr(F, function), signature_of(words)
    labels = [label for label in signature.parameters if label not in _OLDER]

    def init(self: Any, *args: Any, **keywords: Any) -> None:
        Module.__init__(self)
        given = bound_to(name, signature, args, keywords)
        older = [given.pop(label, None) for label in _OLDER]
        given["reduction"] = _reduction(older[0], older[1], given["reduction"])
        for label, value in given.items():
            if label in _BUFFERS:
                self.register_buffer(label, value)
            else:
                setattr(self, label, value)

    def forward(self: Any, *inputs: Tensor) -> Tensor:
        return work(*inputs, **{label: getattr(self, label) for label in labels})  # type: ignore[no-any-return]

    init.__signature__ = signature_of(["self", *words])  # type: ignore[attr-defined]
    body = {"__init__": init, "forward": forward, "__module__": __name__}
    return type(name, (Module,), {**body, "__doc__": f"`functional.{function}` as a module."})


def _losses() -> dict[str, Any]:
    made = {}
    for line in _TABLE.replace("@", "size_average=None reduce=None reduction='mean'").splitlines():
        if line:
            name, function, *words = line.split()
            made[name] = _loss(name, function, words)
    return made


LOSSES = _losses()
globals().update(LOSSES)
