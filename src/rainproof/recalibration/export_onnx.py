"""Maps as ONNX models, from doubles "p" to doubles of the same shape.

Of one event onnxruntime gives the same bits as Python on a CPU; of several classes the same up to
rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rainproof.core.piecewise import PiecewiseMap
from rainproof.errors import MissingExtraError
from rainproof.recalibration.maps import ClassMap, ClassPart
from rainproof.recalibration.methods import NEAREST

if TYPE_CHECKING:
    from onnx import ModelProto

_OPERATORS = 16  # the version that is read since onnxruntime 1.11
_FORMAT = 8  # likewise
_CLASS_AXIS = [1]


def as_onnx(pieces: PiecewiseMap) -> ModelProto:
    """Write a map of one event: "p" of shape (n,) to "probability" of the same shape."""
    graph = _Graph()
    value = graph.pieces("p", pieces)
    is_share = graph.node(
        "And",
        graph.node("GreaterOrEqual", "p", graph.constant(0.0)),
        graph.node("LessOrEqual", "p", graph.constant(1.0)),
    )
    graph.node("Where", is_share, value, graph.constant(np.nan), output="probability")
    return graph.model("probability")


def classes_as_onnx(map_: ClassMap) -> ModelProto:
    """Write a map of k classes: "p" of shape (n, k) to "probabilities" of the same shape."""
    graph = _Graph()
    weighted = []
    for part in map_.parts:
        value = _part(graph, part)
        weighted.append(graph.node("Mul", value, graph.constant(part.weight)))
    graph.shares(graph.node("Sum", *weighted), output="probabilities")
    return graph.model("probabilities", len(map_.classes))


def _part(graph: _Graph, part: ClassPart) -> str:
    """Add one map of a mean, and return the name of its values."""
    if part.slope is not None:
        log = graph.node("Log", graph.node("Max", "p", graph.constant(NEAREST)))
        times = "MatMul" if part.slope.ndim == 2 else "Mul"
        scaled = graph.node(times, log, graph.constant(part.slope.T))
        score = graph.node("Add", scaled, graph.constant(part.intercept))
        return graph.node("Softmax", score, axis=1)
    if part.intercept is not None:
        zeros = graph.node("Mul", "p", graph.constant(0.0))
        return graph.node("Add", zeros, graph.constant(part.intercept))
    if part.maps:
        columns = []
        for number, own in enumerate(part.maps):
            column = graph.node("Gather", "p", graph.constant(number), axis=1)
            columns.append(graph.pieces(column, own))
        raised = [
            graph.node("Unsqueeze", column, graph.constant(_CLASS_AXIS)) for column in columns
        ]
        return graph.shares(graph.node("Concat", *raised, axis=1))
    return "p"


class _Graph:
    """The nodes of a model."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            raise MissingExtraError("to_onnx", "onnx", "onnx") from error
        self._onnx: Any = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, value: Any) -> str:
        """Add a constant, and return its name."""
        name = f"constant_{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(
        self, operator: str, *inputs: str, output: str | None = None, **attributes: Any
    ) -> str:
        """Add a node, and return the name of its output."""
        output = output or f"{operator}_{len(self._nodes)}"
        self._nodes.append(
            self._onnx.helper.make_node(operator, list(inputs), [output], **attributes)
        )
        return output

    def shares(self, value: str, output: str | None = None) -> str:
        """Divide each row by its sum, and return the name of the result."""
        total = self.node("ReduceSum", value, self.constant(_CLASS_AXIS), keepdims=1)
        return self.node("Div", value, total, output=output)

    def pieces(self, p: str, pieces: PiecewiseMap) -> str:
        """Add a map of a column, whose piece is found by halving; return the name of its values."""
        levels = (len(pieces.start) - 1).bit_length()
        padding = np.full((1 << levels) - len(pieces.start), np.nan)  # which no prediction reaches
        lower = self.constant(np.concatenate([pieces.edges[:-1], padding]))
        piece = self.constant(np.int64(0))
        for level in reversed(range(levels)):
            step = self.constant(np.int64(1 << level))
            edge = self.node("Gather", lower, self.node("Add", piece, step))
            is_reached = self.node("GreaterOrEqual", p, edge)
            taken = self.node("Cast", is_reached, to=self._onnx.TensorProto.INT64)
            piece = self.node("Add", piece, self.node("Mul", taken, step))
        beyond = self.node("Sub", p, self.node("Gather", lower, piece))
        slope = self.node("Gather", self.constant(pieces.slope), piece)
        rise = self.node("Mul", beyond, slope)
        return self.node("Add", self.node("Gather", self.constant(pieces.start), piece), rise)

    def model(self, output: str, *shape: int) -> ModelProto:
        """Return the model: "p" of shape (n, *shape) to this output."""
        helper = self._onnx.helper
        double = self._onnx.TensorProto.DOUBLE
        given = helper.make_tensor_value_info("p", double, ["n", *shape])
        returned = helper.make_tensor_value_info(output, double, ["n", *shape])
        graph = helper.make_graph(
            self._nodes, "recalibration", [given], [returned], self._constants
        )
        model: ModelProto = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPERATORS)], producer_name="rainproof"
        )
        model.ir_version = _FORMAT
        return model
