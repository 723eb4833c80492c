"""JSON-RPC 2.0 over a pipe or a socket, with one message per line."""

from __future__ import annotations

import itertools
import json
import logging
import os
import socket
import subprocess
import threading
from concurrent.futures import Future
from typing import Any, BinaryIO, Callable, Dict, Optional

log = logging.getLogger("sftseq")

Handler = Callable[[Any], None]

#: Error codes of a busy server and of a cancelled request.
BUSY = -32000
CANCELLED = -32800


class ServerError(Exception):
    """An error response: its code, its message, and data such as the invalid field or the time before a retry."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.data = code, message, data

    @property
    def retry_after(self) -> Optional[float]:
        """The seconds after which to retry; None if a retry is useless."""
        if self.code != BUSY or not isinstance(self.data, dict):
            return None
        return float(self.data.get("retryAfterMilliseconds", 0)) / 1000


class Connection:
    """A connection to a server. It is thread-safe, and responses may arrive in any order."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO, process: Optional[subprocess.Popen[bytes]] = None) -> None:
        # Handlers by notification method. "error" handles errors without a request, "" the end of the connection.
        # The reading thread calls them.
        self.handlers: Dict[str, Handler] = {}
        self._reader, self._writer, self._process = reader, writer, process
        self._request_ids = itertools.count(1)
        self._calls: Dict[int, Future[Any]] = {}
        self._progress: Dict[str, Handler] = {}  # by token
        self._write_lock = threading.Lock()
        self._close_reason: Optional[str] = None  # why the connection closed; None while it is open
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @classmethod
    def start(cls, *command: str) -> Connection:
        """Starts a server for the lifetime of the connection. Its log goes to standard error."""
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin and process.stdout
        return cls(process.stdout, process.stdin, process)  # type: ignore[arg-type]

    @classmethod
    def connect(cls, address: str) -> Connection:
        """Connects to a server at unix:PATH or tcp:HOST:PORT."""
        network, _, name = address.partition(":")
        if network == "unix" and name:
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(name)
            except OSError:
                s.close()
                raise
        elif network == "tcp" and name.rpartition(":")[2].isdigit():
            host, _, port = name.rpartition(":")
            s = socket.create_connection((host.strip("[]") or "127.0.0.1", int(port)))
        else:
            raise ValueError(f"address: expected unix:PATH or tcp:HOST:PORT, found {address!r}")
        with s:  # the files keep the socket open
            return cls(s.makefile("rb"), s.makefile("wb"))

    def request(
        self,
        method: str,
        params: Optional[Dict[str, Any]] = None,
        on_progress: Optional[Handler] = None,
        on_results: Optional[Handler] = None,
    ) -> Future[Any]:
        """Sends a request and returns a future, whose cancel() cancels the request.

        on_progress receives progress reports. on_results receives the partial results of a list, and the
        response then contains no results. The reading thread calls both handlers, so they must not wait for
        responses."""
        request_id = next(self._request_ids)
        future = _Call(self, request_id)
        for name, handler in (("workDoneToken", on_progress), ("partialResultToken", on_results)):
            if handler:
                token = f"{name} {request_id}"
                params = {**(params or {}), name: token}
                self._progress[token] = handler
                future.add_done_callback(lambda _, token=token: self._progress.pop(token))
        self._calls[request_id] = future
        try:
            self._send({"id": request_id, "method": method}, params)
        except Exception:
            self._calls.pop(request_id, None)
            raise
        if self._close_reason:  # the connection may have ended before the call was registered
            self._fail_call(request_id)
        return future

    def notify(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Sends a notification, which has no response."""
        self._send({"method": method}, params)

    def close(self, shutdown: bool = True) -> Optional[int]:
        """Closes the connection, and returns the exit status if start() launched the server, otherwise
        None. Without shutdown the pending requests are cancelled."""
        try:
            if shutdown and not self._close_reason:
                self.request("shutdown").result()
            if not self._close_reason:
                self.notify("exit")
        except (OSError, ValueError):
            pass  # the connection is lost already
        self._listener.join()
        for file in (self._writer, self._reader):
            try:
                file.close()
            except OSError:
                pass
        return self._process.wait() if self._process else None

    def _send(self, message: Dict[str, Any], params: Optional[Dict[str, Any]]) -> None:
        if params is not None:
            message["params"] = params
        line = json.dumps({"jsonrpc": "2.0", **message}, allow_nan=False).encode() + b"\n"
        with self._write_lock:
            if self._close_reason:
                raise ConnectionError(self._close_reason)
            try:
                self._writer.write(line)
                self._writer.flush()
            except OSError as e:
                raise ConnectionError(self._close_reason or f"the server is gone: {e}") from e

    def _listen(self) -> None:
        reason = "the server is gone"
        try:
            for line in self._reader:
                self._receive(json.loads(line))
        except json.JSONDecodeError as e:
            reason = f"reading from the server: {e}: expected one JSON message per line: the server must run with --framing lines"
        except Exception as e:
            reason = f"reading from the server: {e!r}"
        finally:
            if self._process:
                try:
                    reason = f"the server exited with status {self._process.wait(timeout=1)}"
                except subprocess.TimeoutExpired:
                    pass
            self._close_reason = reason
            for request_id in list(self._calls):
                self._fail_call(request_id)
            self._call_handler(self.handlers.get(""), reason)

    def _receive(self, message: Dict[str, Any]) -> None:
        params: Any = message.get("params")
        if message.get("method") == "$/progress":
            self._call_handler(self._progress.get(params["token"]), params["value"])
        elif "method" in message:
            self._call_handler(self.handlers.get(message["method"]), params)
        elif (call := self._calls.pop(message.get("id"), None)) is None:  # type: ignore[arg-type]
            self._call_handler(self.handlers.get("error"), ServerError(**message["error"]))
        elif "error" in message:
            call.set_exception(ServerError(**message["error"]))
        else:
            call.set_result(message["result"])

    def _call_handler(self, handler: Optional[Handler], value: Any) -> None:
        if handler:
            try:
                handler(value)
            except Exception:  # an exception of a handler must not end the connection
                log.exception("a handler failed")

    def _fail_call(self, request_id: int) -> None:
        if future := self._calls.pop(request_id, None):
            future.set_exception(ConnectionError(self._close_reason))


class _Call(Future):  # type: ignore[type-arg]
    """A pending request. The server responds to cancelled requests as well."""

    def __init__(self, connection: Connection, request_id: int) -> None:
        super().__init__()
        self.set_running_or_notify_cancel()
        self._connection, self._request_id = connection, request_id

    def cancel(self) -> bool:
        """Cancels the request, which then fails with -32800, or succeeds if its result was ready."""
        if self.done():
            return False
        try:
            self._connection.notify("$/cancelRequest", {"id": self._request_id})
        except ConnectionError:
            return False
        return True


def initialize_params() -> Dict[str, Any]:
    """Returns the params of initialize. A server on standard input exits when the process with this processId exits."""
    return {"processId": os.getpid(), "clientInfo": {"name": "sftseq-client"}, "capabilities": {"general": {"positionEncodings": ["utf-32"]}}}
