#!/usr/bin/env python3
"""A client of `sftseq serve`, in nothing but Python's standard library.

    make build
    python3 examples/client.py ./sftseq serve --model runs/listops

or for one of many clients of a server:

    ./sftseq serve --model runs/listops --listen unix:sftseq.sock &
    python3 examples/client.py sftseq.sock

Take the class; main() shows how it is used.
"""

import itertools
import json
import os
import queue
import socket
import subprocess
import sys
import threading
from concurrent.futures import Future


class ServerError(Exception):
    """An answer that is an error: its code, and data that says where."""

    def __init__(self, code, message, data=None):
        super().__init__(f"{code}: {message}")
        self.code, self.data = code, data


class Client:
    """A session. Its requests may be waited for in any order and from any thread."""

    @classmethod
    def start(cls, *command):
        """Starts a server that lives as long as the session."""
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return cls(process.stdout, process.stdin, process)

    @classmethod
    def connect(cls, path):
        """Joins a server that listens at a unix socket."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            return cls(s.makefile("rb"), s.makefile("wb"))

    def __init__(self, reader, writer, process=None):
        self.reader, self.writer, self.process = reader, writer, process
        self.handlers = {"window/logMessage": lambda params: print(params["message"], file=sys.stderr)}
        self.numbers = itertools.count(1)
        self.calls = {}  # futures by id
        self.progress = {}  # handlers by token
        self.writing = threading.Lock()
        self.over = False
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()
        # processId lets the server end when this process dies; a socket tells by itself.
        hello = {"processId": os.getpid(), "clientInfo": {"name": "client.py"}, "capabilities": {}}
        self.server = self.request("initialize", hello).result()
        self.notify("initialized", {})

    def request(self, method, params=None, on_progress=None, on_results=None):
        """Asks, and returns a Future at once. on_progress is called with what is done of it,
        on_results with results of many as they come, which the answer then lacks."""
        future = Future()
        future.set_running_or_notify_cancel()  # cancelling is up to the server: see cancel
        future.number = next(self.numbers)
        for name, handler in (("workDoneToken", on_progress), ("partialResultToken", on_results)):
            if handler:
                token = f"{name} {future.number}"
                params = {**(params or {}), name: token}
                self.progress[token] = handler
                future.add_done_callback(lambda _, token=token: self.progress.pop(token))
        self.calls[future.number] = future
        self._send({"id": future.number, "method": method}, params)
        if self.over:  # it may have ended before the call was there to be told
            self._lost(future.number)
        return future

    def cancel(self, future):
        """Takes a request back. Its future still ends: by an error of -32800, or by a result that was ready."""
        self.notify("$/cancelRequest", {"id": future.number})

    def notify(self, method, params=None):
        self._send({"method": method}, params)

    def close(self):
        """Takes leave. Returns the exit status of a server that start began, otherwise None."""
        self.request("shutdown").result()
        self.notify("exit")
        self.listener.join()
        self.reader.close()
        self.writer.close()
        return self.process and self.process.wait()

    def _send(self, message, params):
        if params is not None:
            message["params"] = params
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self.writing:
            self.writer.write(line)
            self.writer.flush()

    def _listen(self):
        try:
            for line in self.reader:
                self._receive(json.loads(line))
        finally:
            self.over = True
            for number in list(self.calls):
                self._lost(number)

    def _receive(self, message):
        params = message.get("params")
        if message.get("method") == "$/progress":
            self.progress[params["token"]](params["value"])
        elif "method" in message:
            self.handlers.get(message["method"], lambda params: None)(params)
        elif (call := self.calls.pop(message["id"], None)) is None:
            print("to a message that could not be read:", message["error"]["message"], file=sys.stderr)
        elif "error" in message:
            call.set_exception(ServerError(**message["error"]))
        else:
            call.set_result(message["result"])

    def _lost(self, number):
        if future := self.calls.pop(number, None):
            future.set_exception(ConnectionError("the server is gone"))


def main(*server):
    client = Client.start(*server) if len(server) > 1 else Client.connect(*server)
    model = client.server["model"]
    print(f"model: {model['name']}, labels {model['labels']}")
    if model["task"] != "classification":
        sys.exit("this example wants a model that classifies")

    answer = client.request("sequence/classify", {"text": "[MAX 2 9 ]"}).result()
    print(f"classify: {answer['label']} of {answer['length']} tokens")

    # Many in one request. What is wrong with one is told in its place.
    many = {"sequences": [{"text": "[MIN 4 7 ]"}, {"tokens": []}, {"text": "[SM 5 [MED 1 2 3 ] 8 ]"}]}
    for r in client.request("sequence/classify", many).result()["results"]:
        print(f"many: {r['index']}", r["result"]["label"] if "result" in r else r["error"]["message"])

    # The same, one by one as they come, and how far the request is, in tokens.
    client.request(
        "sequence/classify",
        many,
        on_progress=lambda v: print("progress:", v.get("message", v["kind"])),
        on_results=lambda v: print("came:", *(r["index"] for r in v["results"])),
    ).result()

    # A long request, taken back.
    long = {"sequences": [{"tokens": [1] * min(4096, model["longestLength"])}] * 200}
    future = client.request("sequence/classify", long)
    client.cancel(future)
    try:
        print("cancel: too late,", len(future.result()["results"]), "results")
    except ServerError as e:
        print("cancel:", e)

    # A document is classified when it has been left alone for a while; so version
    # 2, which is changed at once, is not. Offsets are in bytes of UTF-8.
    pushes = queue.Queue()
    client.handlers["sequence/publishClassification"] = pushes.put
    document = {"uri": "file:///expression"}
    client.notify("sequence/didOpen", {**document, "version": 1, "text": "[MAX 2 9 ]"})
    print("pushed: version {version}, label {label}".format(**pushes.get(timeout=60)))
    first = {"range": {"start": 5, "end": 6}, "text": "[MIN 4 7 ]"}
    client.notify("sequence/didChange", {**document, "version": 2, "changes": [first]})
    again = {"range": {"start": 16, "end": 17}, "text": "3"}
    client.notify("sequence/didChange", {**document, "version": 3, "changes": [again]})
    print("pushed: version {version}, label {label}".format(**pushes.get(timeout=60)))
    client.notify("sequence/didClose", document)

    print("closed:", client.close())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
