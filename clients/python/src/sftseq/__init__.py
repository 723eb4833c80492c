"""A client of ``sftseq serve``: classes, numbers, labels, spans and embeddings of long sequences.

    with Client.start("runs/listops") as client:
        print(client.classify("[MAX 2 9 ]")["label"])
"""

from .client import Client
from .connection import ServerError
from .document import Document
from .types import (
    Added,
    Classification,
    Embedding,
    Found,
    FoundItem,
    Graph,
    Labels,
    Model,
    Numbers,
    Pair,
    Removed,
    Score,
    Sequence,
    Span,
    Spans,
    Tags,
    Window,
)

__all__ = [
    "Added",
    "Classification",
    "Client",
    "Document",
    "Embedding",
    "Found",
    "FoundItem",
    "Graph",
    "Labels",
    "Model",
    "Numbers",
    "Pair",
    "Removed",
    "Score",
    "Sequence",
    "ServerError",
    "Span",
    "Spans",
    "Tags",
    "Window",
]
