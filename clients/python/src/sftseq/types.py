"""What the server is asked about, and what it answers. docs/protocol.md of sftseq has every field."""

from __future__ import annotations

from typing import Any, Dict, List, Protocol, Tuple, TypedDict, Union, runtime_checkable
from typing import Sequence as Items


@runtime_checkable
class OpenDocument(Protocol):
    """An open document, such as Client.open returns."""

    uri: str
    version: int


class _Graph(TypedDict):
    features: Items[Items[float]]  # of each token


class Graph(_Graph, total=False):
    """A point cloud, or a graph with its edges: each a source, a target and its features."""

    edges: Items[Items[float]]


#: A sequence: text, the bytes of a text, token ids, an open document, or a point cloud or graph.
Sequence = Union[str, bytes, Items[int], OpenDocument, Graph]

#: Two sequences that are compared.
Pair = Tuple[Sequence, Sequence]


class _Window(TypedDict):
    policy: str  # head, tail or sliding


class Window(_Window, total=False):
    """What is read of a sequence that is longer than the model accepts."""

    length: int  # tokens
    stride: int  # from one sliding window to the next


class _Sizes(TypedDict):
    length: int  # in tokens


class _Answer(_Sizes, total=False):
    used: int  # tokens that the model has read, where it may cut
    uri: str  # of a document
    version: int


class _Windowed(_Answer, total=False):
    window: Dict[str, Any]  # what was read, if the request had a window
    windows: List[Dict[str, Any]]  # the answers of several sliding ones


class Classification(_Windowed, total=False):
    """The class of a sequence."""

    label: Union[str, int]
    logits: List[float]
    probabilities: List[float]
    explain: Dict[str, Any]


class Score(_Sizes, total=False):
    """The class of a pair."""

    label: Union[str, int]
    logits: List[float]
    probabilities: List[float]
    length_a: int
    length_b: int
    used: int
    explain_a: Dict[str, Any]
    explain_b: Dict[str, Any]


class Embedding(_Answer):
    """The vector of a sequence."""

    embedding: List[float]


class Numbers(_Windowed):
    """The numbers of a sequence, by name."""

    numbers: Dict[str, float]


class Labels(_Windowed):
    """The labels of a sequence that hold, and the probability of each."""

    labels: List[Union[str, int]]
    probabilities: Dict[str, float]


class Span(TypedDict):
    """A part of a sequence: from start up to end, in the unit of the answer."""

    start: int
    end: int
    label: str
    score: float


class Spans(_Answer):
    """The spans of a sequence. The unit is characters, as Python counts them, or tokens."""

    spans: List[Span]
    unit: str


class Tags(_Answer):
    """The tag of each point of a cloud, or of each node of a graph, and its probability."""

    tags: List[Union[str, int]]
    scores: List[float]


class Added(_Answer):
    """An item that is in the index, and on the disk."""

    id: str


class Removed(TypedDict):
    """What has left the index."""

    removed: int
    unknown: List[str]


class _FoundItem(TypedDict):
    id: str
    cosine: float


class FoundItem(_FoundItem, total=False):
    """An item of the index."""

    score: float  # of the pair, where it was scored again


class Found(_Sizes):
    """The items that are nearest to a sequence, the best first."""

    items: List[FoundItem]


class _Model(TypedDict):
    name: str
    task: str
    labels: List[Union[str, int]]
    vocabSize: int
    longestLength: int
    hiddenSize: int
    layers: int
    device: str
    hash: str


class Model(_Model, total=False):
    """What the server answers with."""

    numbers: List[str]
    features: List[str]  # of tokens without ids
    edgeFeatures: List[str]  # of graphs
    models: int  # that answer together, two or more
    tokenizer: Dict[str, str]
