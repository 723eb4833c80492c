"""The client."""

from __future__ import annotations

import base64
import logging
import time
from collections import deque
from concurrent.futures import Future
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, TypeVar, Union, overload
from typing import Sequence as Items

from .connection import Connection, ServerError, initialize_params
from .document import Document
from .types import (
    AddResult,
    Classification,
    Embedding,
    Graph,
    Labels,
    Model,
    Numbers,
    OpenDocument,
    Pair,
    RemoveResult,
    Score,
    SearchResult,
    Sequence,
    Spans,
    Tags,
    Window,
)

T = TypeVar("T")

log = logging.getLogger("sftseq")

#: The default of `ahead`, the maximum number of pending requests of a stream.
AHEAD = 64


class Client:
    """A session with a server. Its methods are thread-safe.

    If the server is busy, the methods retry for at most `patience` seconds; request() does not retry. An
    invalid request raises ServerError. A lost connection raises ConnectionError.

    Each method for one sequence has a variant `..._each`, which takes an iterable and yields results
    in order. At most `ahead` requests are pending, and the next element is read when a result is
    consumed (backpressure). If the request of an element fails, the iterator yields the ServerError
    instead of raising it."""

    def __init__(self, connection: Connection, patience: float = 60) -> None:
        self.connection, self.patience = connection, patience
        self._documents: Dict[str, Document] = {}
        for kind in ("Classification", "Spans", "Numbers", "Labels"):
            connection.handlers["sequence/publish" + kind] = self._on_publish
        connection.handlers["window/logMessage"] = lambda params: log.warning("%s", params["message"])
        connection.handlers["error"] = lambda e: log.error("the server could not read a message: %s", e)
        connection.handlers[""] = self._on_close
        try:
            result = connection.request("initialize", initialize_params()).result()
            connection.notify("initialized", {})
        except BaseException:
            connection.close(shutdown=False)
            raise
        self.model: Model = result["model"]
        self.methods: List[str] = result["capabilities"]["methods"]  # supported by the model

    @classmethod
    def start(cls, model: str, *flags: str, program: str = "sftseq", patience: float = 60) -> Client:
        """Starts `sftseq serve` for a model directory, with further flags. close() stops the server."""
        return cls(Connection.start(program, "serve", "--model", model, *flags), patience)

    @classmethod
    def connect(cls, address: str, patience: float = 60) -> Client:
        """Connects to a server at unix:PATH or tcp:HOST:PORT."""
        return cls(Connection.connect(address), patience)

    def close(self) -> Optional[int]:
        """Closes the session after all responses. Returns the exit status if start() launched the server, otherwise None."""
        return self.connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.connection.close(shutdown=kind is None)

    # Methods for one sequence.

    def classify(self, sequence: Sequence, window: Optional[Window] = None, explain: bool = False) -> Classification:
        """Returns the class of a sequence, or of a window of it."""
        return self._call("sequence/classify", _predict_params(sequence, window, explain))

    def predict(self, sequence: Sequence, window: Optional[Window] = None) -> Numbers:
        """Returns the numbers predicted for a sequence, or for a window of it."""
        return self._call("sequence/predict", _predict_params(sequence, window))

    def labels(self, sequence: Sequence, window: Optional[Window] = None) -> Labels:
        """Returns the predicted labels of a sequence, or of a window of it."""
        return self._call("sequence/labels", _predict_params(sequence, window))

    @overload
    def tag(self, sequence: Graph) -> Tags: ...

    @overload
    def tag(self, sequence: Union[str, bytes, Items[int], Document]) -> Spans: ...

    def tag(self, sequence: Sequence) -> Union[Spans, Tags]:
        """Returns the spans of a sequence of tokens, or the tag of each point of a cloud or node of a graph."""
        return self._call("sequence/tag", _sequence_params(sequence))

    def embed(self, sequence: Sequence) -> Embedding:
        """Returns the embedding of a sequence."""
        return self._call("sequence/embed", _sequence_params(sequence))

    def score(self, a: Sequence, b: Sequence, explain: bool = False) -> Score:
        """Returns the class of a pair."""
        return self._call("retrieval/score", _pair_params(a, b, explain))

    # Methods for iterables.

    def classify_each(
        self, sequences: Iterable[Sequence], window: Optional[Window] = None, explain: bool = False, ahead: int = AHEAD
    ) -> Iterator[Union[Classification, ServerError]]:
        """Yields the class of each sequence."""
        return self._each("sequence/classify", sequences, lambda s: _predict_params(s, window, explain), ahead)

    def predict_each(
        self, sequences: Iterable[Sequence], window: Optional[Window] = None, ahead: int = AHEAD
    ) -> Iterator[Union[Numbers, ServerError]]:
        """Yields the numbers predicted for each sequence."""
        return self._each("sequence/predict", sequences, lambda s: _predict_params(s, window), ahead)

    def labels_each(
        self, sequences: Iterable[Sequence], window: Optional[Window] = None, ahead: int = AHEAD
    ) -> Iterator[Union[Labels, ServerError]]:
        """Yields the predicted labels of each sequence."""
        return self._each("sequence/labels", sequences, lambda s: _predict_params(s, window), ahead)

    def tag_each(self, sequences: Iterable[Sequence], ahead: int = AHEAD) -> Iterator[Union[Spans, Tags, ServerError]]:
        """Yields the spans or the tags of each sequence."""
        return self._each("sequence/tag", sequences, _sequence_params, ahead)

    def embed_each(self, sequences: Iterable[Sequence], ahead: int = AHEAD) -> Iterator[Union[Embedding, ServerError]]:
        """Yields the embedding of each sequence."""
        return self._each("sequence/embed", sequences, _sequence_params, ahead)

    def score_each(
        self, pairs: Iterable[Pair], explain: bool = False, ahead: int = AHEAD
    ) -> Iterator[Union[Score, ServerError]]:
        """Yields the class of each pair."""
        return self._each("retrieval/score", pairs, lambda pair: _pair_params(*pair, explain), ahead)

    # Methods of the embedding index.

    def add(self, id: Union[str, int], sequence: Sequence) -> AddResult:
        """Adds a sequence to the index, or replaces the item with the same id."""
        return self._call("retrieval/add", {"id": id, **_sequence_params(sequence)})

    def add_each(
        self, items: Iterable[Tuple[Union[str, int], Sequence]], ahead: int = AHEAD
    ) -> Iterator[Union[AddResult, ServerError]]:
        """Adds pairs of an id and a sequence to the index. Ids must be distinct, because the requests run concurrently."""
        return self._each("retrieval/add", items, lambda item: {"id": item[0], **_sequence_params(item[1])}, ahead)

    def remove(self, *ids: Union[str, int]) -> RemoveResult:
        """Removes items from the index."""
        return self._call("retrieval/remove", {"ids": list(ids)})

    def search(self, sequence: Sequence, k: int = 10, rescore: int = 0, lexical: float = 0) -> SearchResult:
        """Returns the k items with the largest (1 - lexical) * cosine + lexical * (score of shared words).

        A pair model reranks the first `rescore` items.
        """
        params: Dict[str, Any] = {"k": k, **_sequence_params(sequence)}
        if rescore:
            params["rescore"] = rescore
        if lexical:
            params["lexical"] = lexical
        return self._call("retrieval/search", params)

    def search_each(
        self, sequences: Iterable[Sequence], k: int = 10, ahead: int = AHEAD
    ) -> Iterator[Union[SearchResult, ServerError]]:
        """Yields the k nearest items of each sequence."""
        return self._each("retrieval/search", sequences, lambda s: {"k": k, **_sequence_params(s)}, ahead)

    # Documents and other methods.

    def open(self, uri: str, text: str, window: Optional[Window] = None) -> Document:
        """Opens a document. Document.close(), or the end of a with statement, closes it. The window applies to published
        classes, numbers and labels."""
        text.encode()  # raises for an unpaired surrogate
        document = Document(self, uri, text)
        if self._documents.setdefault(uri, document) is not document:
            raise ValueError(f"{uri}: the document is already open")
        params: Dict[str, Any] = {"uri": uri, "version": document.version, "text": text}
        if window:
            params["window"] = window
        try:
            self.connection.notify("sequence/didOpen", params)
        except BaseException:
            self.forget(document)
            raise
        return document

    def forget(self, document: Document) -> bool:
        """Removes a document from the open documents. Returns False if it was not open."""
        return self._documents.pop(document.uri, None) is not None

    def info(self) -> Model:
        """Returns the current model, which the server may have reloaded."""
        return self._call("model/info", None)

    def stats(self) -> Dict[str, Any]:
        """Returns statistics of the server."""
        return self._call("server/stats", None)

    def request(self, method: str, params: Optional[Dict[str, Any]] = None, **handlers: Callable[[Any], None]) -> Future[Any]:
        """Sends a request of any method of docs/protocol.md, without waiting or retrying: see Connection.request."""
        return self.connection.request(method, params, **handlers)

    def _call(self, method: str, params: Optional[Dict[str, Any]]) -> Any:
        return self._result(self.connection.request(method, params), method, params)

    def _result(self, future: Future[Any], method: str, params: Optional[Dict[str, Any]]) -> Any:
        """Waits for the result of a request, and retries while the server is busy, for at most self.patience seconds."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                return future.result()
            except ServerError as e:
                wait = e.retry_after
                if wait is None or time.monotonic() + wait > deadline:
                    raise
                time.sleep(wait)
                future = self.connection.request(method, params)

    def _each(self, method: str, items: Iterable[T], params: Callable[[T], Dict[str, Any]], ahead: int) -> Iterator[Any]:
        if ahead < 1:
            raise ValueError(f"ahead: expected at least 1, found {ahead}")
        return self._stream(method, iter(items), params, ahead)

    def _stream(self, method: str, items: Iterator[T], params: Callable[[T], Dict[str, Any]], ahead: int) -> Iterator[Any]:
        pending: Deque[Tuple[Future[Any], Dict[str, Any]]] = deque()
        more = True
        try:
            while True:
                while more and len(pending) < ahead:
                    try:
                        request_params = params(next(items))
                    except StopIteration:
                        more = False
                        break
                    pending.append((self.connection.request(method, request_params), request_params))
                if not pending:
                    return
                future, request_params = pending.popleft()
                result: Any
                try:
                    result = self._result(future, method, request_params)
                except ServerError as e:
                    result = e
                yield result
        finally:  # even if the caller leaves the loop early
            for future, _ in pending:
                future.cancel()

    def _on_publish(self, params: Dict[str, Any]) -> None:
        if document := self._documents.get(params["uri"]):
            document.publish(params)

    def _on_close(self, reason: str) -> None:
        for document in list(self._documents.values()):
            document.disconnect(reason)


def _sequence_params(sequence: Sequence, suffix: str = "") -> Dict[str, Any]:
    """Returns the request fields for a sequence. The suffix names the side of a pair: _a or _b."""
    if isinstance(sequence, str):
        return {"text" + suffix: sequence}
    if isinstance(sequence, (bytes, bytearray)):
        return {"bytes" + suffix: base64.b64encode(sequence).decode()}
    if isinstance(sequence, OpenDocument):
        return {"uri" + suffix: sequence.uri, "version" + suffix: sequence.version}
    if isinstance(sequence, Mapping):
        return dict(sequence)
    return {"tokens" + suffix: [int(token) for token in sequence]}


def _predict_params(sequence: Sequence, window: Optional[Window], explain: bool = False) -> Dict[str, Any]:
    """Returns the request fields for a sequence and the options of a prediction."""
    params = _sequence_params(sequence)
    if window:
        params["window"] = window
    if explain:
        params["explain"] = True
    return params


def _pair_params(a: Sequence, b: Sequence, explain: bool) -> Dict[str, Any]:
    """Returns the request fields for a pair."""
    params = {**_sequence_params(a, "_a"), **_sequence_params(b, "_b")}
    if explain:
        params["explain"] = True
    return params
