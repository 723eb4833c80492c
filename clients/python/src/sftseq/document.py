"""Documents for which the server publishes results after a pause in editing."""

from __future__ import annotations

import threading
import time
from typing import Any, Dict, Optional, Protocol

from .connection import Connection, ServerError


class _DocumentClient(Protocol):
    """The part of a client that a document uses."""

    connection: Connection

    def forget(self, document: Document) -> bool: ...


class Document:
    """An open document. Offsets count characters of the str.

    Every method of the client that takes a sequence accepts a document. The result describes the
    document's version at the time of the request."""

    def __init__(self, client: _DocumentClient, uri: str, text: str) -> None:
        self.uri, self.text, self.version = uri, text, 1
        self._client = client
        self._editing = threading.Lock()  # held by calling threads
        self._changed = threading.Condition()  # also held by the reading thread, which must not wait for a write
        self._published: Optional[Dict[str, Any]] = None  # the last published result
        self._close_reason: Optional[str] = None  # why the connection closed; None while it is open

    def replace(self, start: int, end: int, text: str) -> None:
        """Replaces the characters from start to end, exclusive."""
        with self._editing:
            if not 0 <= start <= end <= len(self.text):
                raise ValueError(f"expected 0 <= start <= end <= {len(self.text)}, found {start} and {end}")
            self._change({"range": {"start": start, "end": end}, "text": text}, self.text[:start] + text + self.text[end:])

    def set(self, text: str) -> None:
        """Replaces the whole text."""
        with self._editing:
            self._change({"text": text}, text)

    def _change(self, change: Dict[str, Any], text: str) -> None:
        change["text"].encode()  # raises for an unpaired surrogate
        version = self.version + 1
        self._client.connection.notify("sequence/didChange", {"uri": self.uri, "version": version, "changes": [change]})
        with self._changed:
            self.text, self.version = text, version

    def wait(self, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Waits until the server publishes the class, spans, numbers or labels of the last version,
        after a pause in editing. Raises TimeoutError after timeout seconds, ServerError for an invalid
        document, and ConnectionError if the connection is lost. Pair models and fill-mask models
        publish nothing."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self._published is None or self._published["version"] != self.version:
                if self._close_reason:
                    raise ConnectionError(self._close_reason)
                remaining = None if deadline is None else deadline - time.monotonic()
                if remaining is not None and remaining <= 0:
                    raise TimeoutError(f"{self.uri}: no result for version {self.version} in {timeout} s")
                self._changed.wait(remaining)
            result = self._published
        if "error" in result:
            raise ServerError(**result["error"])
        return result

    def close(self) -> None:
        """Closes the document. The server frees its text."""
        if self._client.forget(self):
            self._client.connection.notify("sequence/didClose", {"uri": self.uri})

    def publish(self, params: Dict[str, Any]) -> None:
        """Stores a published result."""
        with self._changed:
            self._published = params
            self._changed.notify_all()

    def disconnect(self, reason: str) -> None:
        """Ends all waits, because the connection is closed."""
        with self._changed:
            self._close_reason = reason
            self._changed.notify_all()

    def __enter__(self) -> Document:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        except ConnectionError:
            pass
