"""A map as an ONNX model: the piece is found by halving, then computed as `PiecewiseMap` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rainproof.core.piecewise import PiecewiseMap
from rainproof.errors import MissingExtraError

if TYPE_CHECKING:
    from onnx import ModelProto

_OPERATORS, _FORMAT = 16, 8  # versions that are read since onnxruntime 1.11


def as_onnx(pieces: PiecewiseMap) -> ModelProto:
    """Write a map as a model: doubles "p" of shape (n,) to doubles "probability" of the same shape."""
    try:
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise MissingExtraError("to_onnx", "onnx", "onnx") from error
    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(name: str, value: Any) -> str:
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        output = output or f"{operator}_{len(nodes)}"
        nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    levels = (len(pieces.start) - 1).bit_length()
    padding = np.full((1 << levels) - len(pieces.start), np.nan)  # which no prediction reaches
    lower = constant("lower", np.concatenate([pieces.edges[:-1], padding]))
    at = constant("first", np.int64(0))
    for level in reversed(range(levels)):
        step = constant(f"step_{level}", np.int64(1 << level))
        reached = node("GreaterOrEqual", "p", node("Gather", lower, node("Add", at, step)))
        at = node("Add", at, node("Mul", node("Cast", reached, to=TensorProto.INT64), step))
    beyond = node("Sub", "p", node("Gather", lower, at))
    rise = node("Mul", beyond, node("Gather", constant("slope", pieces.slope), at))
    value = node("Add", node("Gather", constant("start", pieces.start), at), rise)
    limits = [node("GreaterOrEqual", "p", constant("zero", 0.0)), node("LessOrEqual", "p", constant("one", 1.0))]
    node("Where", node("And", *limits), value, constant("nan", np.nan), output="probability")
    ends = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["n"]) for name in ("p", "probability")]
    graph = helper.make_graph(nodes, "recalibration", ends[:1], ends[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPERATORS)], producer_name="rainproof")
    model.ir_version = _FORMAT
    return model
