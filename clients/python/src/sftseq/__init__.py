"""A client of ``sftseq serve``: classes, numbers, labels, spans and embeddings of long sequences.

    with Client.start("runs/listops") as client:
        print(client.classify("[MAX 2 9 ]")["label"])
"""

from .client import Client
from .connection import ServerError
from .document import Document
from .types import (
    AddResult,
    Classification,
    Embedding,
    Graph,
    Labels,
    Model,
    Numbers,
    Pair,
    RemoveResult,
    Score,
    SearchItem,
    SearchResult,
    Sequence,
    Span,
    Spans,
    Tags,
    Window,
)

__all__ = [
    "AddResult",
    "Classification",
    "Client",
    "Document",
    "Embedding",
    "Graph",
    "Labels",
    "Model",
    "Numbers",
    "Pair",
    "RemoveResult",
    "Score",
    "SearchItem",
    "SearchResult",
    "Sequence",
    "ServerError",
    "Span",
    "Spans",
    "Tags",
    "Window",
]
