"""Documents that are edited, and classified when they have been left alone for a while."""

from __future__ import annotations

import threading
import time
from typing import Any, Dict, Optional, Protocol

from .connection import Connection, ServerError


class _Editing(Protocol):
    """The part of a client that a document uses."""

    connection: Connection

    def forget(self, document: Document) -> bool: ...


class Document:
    """An open document. Places are characters, as Python counts them.

    A document is a sequence for every method of the client; an answer is for the version
    that it had when it was asked."""

    def __init__(self, client: _Editing, uri: str, text: str) -> None:
        self.uri, self.text, self.version = uri, text, 1
        self._client = client
        self._editing = threading.Lock()  # by the threads of the program
        self._changed = threading.Condition()  # also by the one that reads, which must not wait for a write
        self._pushed: Optional[Dict[str, Any]] = None  # the last of what the server has said of it
        self._over: Optional[str] = None  # why nothing more will be

    def replace(self, start: int, end: int, text: str) -> None:
        """Puts text in the place of the characters from start up to end."""
        with self._editing:
            if not 0 <= start <= end <= len(self.text):
                raise ValueError(f"expected 0 <= start <= end <= {len(self.text)}, found {start} and {end}")
            before = len(self.text[:start].encode())
            span = {"start": before, "end": before + len(self.text[start:end].encode())}
            self._change({"range": span, "text": text}, self.text[:start] + text + self.text[end:])

    def set(self, text: str) -> None:
        """Puts text in the place of all."""
        with self._editing:
            self._change({"text": text}, text)

    def _change(self, change: Dict[str, Any], text: str) -> None:
        change["text"].encode()  # half of a surrogate pair is no text
        version = self.version + 1
        self._client.connection.notify("sequence/didChange", {"uri": self.uri, "version": version, "changes": [change]})
        with self._changed:
            self.text, self.version = text, version

    def wait(self, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Waits until the server tells the class of the last version, or its spans, numbers or
        labels, which it does when the document has been left alone. TimeoutError says that it did
        not within so many seconds; what is wrong with the document is a ServerError. A model of
        pairs, or without labels, tells nothing of documents."""
        until = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self._pushed is None or self._pushed["version"] != self.version:
                if self._over:
                    raise ConnectionError(self._over)
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"{self.uri}: nothing was told of version {self.version} in {timeout} s")
                self._changed.wait(left)
            pushed = self._pushed
        if "error" in pushed:
            raise ServerError(**pushed["error"])
        return pushed

    def close(self) -> None:
        """Ends the document. The server forgets its text."""
        if self._client.forget(self):
            self._client.connection.notify("sequence/didClose", {"uri": self.uri})

    def pushed(self, params: Dict[str, Any]) -> None:
        """Takes what the server says of the document."""
        with self._changed:
            self._pushed = params
            self._changed.notify_all()

    def lost(self, why: str) -> None:
        """Takes that the server says nothing more."""
        with self._changed:
            self._over = why
            self._changed.notify_all()

    def __enter__(self) -> Document:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        except ConnectionError:
            pass
