"""Types of request parameters and results. docs/protocol.md of sftseq describes every field."""

from __future__ import annotations

from typing import Any, Dict, List, Protocol, Tuple, TypedDict, Union, runtime_checkable
from typing import Sequence as Items


@runtime_checkable
class OpenDocument(Protocol):
    """An open document. The class Document implements this protocol."""

    uri: str
    version: int


class _Graph(TypedDict):
    features: Items[Items[float]]  # one list per token


class Graph(_Graph, total=False):
    """A point cloud or a graph. An edge is its source, its target and its features."""

    edges: Items[Items[float]]


#: A sequence: text, the bytes of a text, token ids, an open document, or a point cloud or graph.
Sequence = Union[str, bytes, Items[int], OpenDocument, Graph]

#: Two sequences to compare.
Pair = Tuple[Sequence, Sequence]


class _Window(TypedDict):
    policy: str  # head, tail or sliding


class Window(_Window, total=False):
    """The part of a sequence to read."""

    length: int  # tokens in the part or in each sliding window; by default the model's limit
    stride: int  # distance between the starts of sliding windows, in tokens; by default half the length


class _Sizes(TypedDict):
    length: int  # in tokens


class _Result(_Sizes, total=False):
    used: int  # number of tokens that the model read, if it may truncate the sequence
    uri: str  # URI of a document
    version: int


class _WindowResult(_Result, total=False):
    window: Dict[str, Any]  # the part that was read, if the request had a window
    windows: List[Dict[str, Any]]  # the results of sliding windows


class Classification(_WindowResult, total=False):
    """The class predicted for a sequence."""

    label: Union[str, int]
    logits: List[float]
    probabilities: List[float]
    explain: Dict[str, Any]


class Score(_Sizes, total=False):
    """The class predicted for a pair."""

    label: Union[str, int]
    logits: List[float]
    probabilities: List[float]
    length_a: int
    length_b: int
    used: int
    explain_a: Dict[str, Any]
    explain_b: Dict[str, Any]


class Embedding(_Result):
    """The embedding of a sequence."""

    embedding: List[float]


class Numbers(_WindowResult):
    """The numbers predicted for a sequence, by name."""

    numbers: Dict[str, float]


class Labels(_WindowResult):
    """The predicted labels of a sequence, and the probability of each label."""

    labels: List[Union[str, int]]
    probabilities: Dict[str, float]


class Span(TypedDict):
    """A part of a sequence from start to end, exclusive, in the unit of the result."""

    start: int
    end: int
    label: str
    score: float


class Spans(_Result):
    """The spans of a sequence. The unit is characters of the str, or tokens."""

    spans: List[Span]
    unit: str


class Tags(_Result):
    """The tag of each point of a cloud, or of each node of a graph, and its probability."""

    tags: List[Union[str, int]]
    scores: List[float]


class AddResult(_Result):
    """The result of adding an item, which is now in the index and on disk."""

    id: str


class RemoveResult(TypedDict):
    """The number of removed items, and the requested ids that the index does not contain."""

    removed: int
    unknown: List[str]


class _SearchItem(TypedDict):
    id: str
    cosine: float


class SearchItem(_SearchItem, total=False):
    """An item of the index."""

    lexical: float  # score of the shared words, if the request has a weight `lexical`
    score: float  # score of the pair, if the item was rescored


class SearchResult(_Sizes):
    """The items nearest to a sequence, best first."""

    items: List[SearchItem]


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
    """The model of the server."""

    numbers: List[str]
    features: List[str]  # names of the features of a token, if tokens have features instead of ids
    edgeFeatures: List[str]  # names of the features of an edge
    models: int  # size of an ensemble, at least two
    tokenizer: Dict[str, str]
