"""Runs the client against the program.

SFTSEQ_PROGRAM is the path of the program and SFTSEQ_GOLDEN a folder of small models. By default the tests build the
program from the clone that contains this file, and use the clone's models.
"""

import contextlib
import io
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

CLONE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(CLONE / "clients/python/src"))

from sftseq import Client, ServerError  # noqa: E402


def build_program():
    """Builds the program from the clone in a temporary folder and returns its path."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    path = os.path.join(folder.name, "sftseq")
    subprocess.run(["go", "build", "-o", path, "./cmd/sftseq"], cwd=CLONE, check=True)
    return path


PROGRAM = os.environ.get("SFTSEQ_PROGRAM") or build_program()
GOLDEN = pathlib.Path(os.environ.get("SFTSEQ_GOLDEN") or CLONE / "sft/testdata/golden").resolve()
README = pathlib.Path(__file__).parent.parent / "README.md"


def start(model, *flags, **options):
    return Client.start(str(GOLDEN / model), "--log", "error", "--debounce", "50ms", *flags, program=PROGRAM, **options)


def program_output(command, model, *lines):
    """Returns the JSON objects that a command of the program prints for the lines, without ids."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    run = subprocess.run([PROGRAM, command, "--model", GOLDEN / model], input=text, capture_output=True, text=True, check=True)
    return [{k: v for k, v in json.loads(line).items() if k != "id"} for line in run.stdout.splitlines()]


@contextlib.contextmanager
def start_server(model, *flags):
    """Runs a server and yields its process, its Unix address and its TCP address."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"unix:{folder}/s"
        command = [PROGRAM, "serve", "--model", GOLDEN / model, "--listen", address, "--listen", "tcp:127.0.0.1:0", *flags]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        tcp = None
        while not tcp:
            line = server.stderr.readline()
            if not line:
                raise RuntimeError("the server exited before it listened")
            tcp = re.search(r"address=(tcp:\S+)", line)
        drained = threading.Thread(target=server.stderr.read)
        drained.start()
        try:
            yield server, address, tcp[1]
        finally:
            server.terminate()
            server.wait()
            drained.join()
            server.stderr.close()


class Results(unittest.TestCase):
    def test_classify_returns_output_of_predict(self):
        text, tokens = "[MAX 2 9 ]", [12, 3, 10, 15, 7]
        want = program_output("predict", "pre", {"text": text}, {"tokens": tokens})
        with start("pre") as client:
            self.assertEqual([client.classify(text), client.classify(tokens)], want)
            self.assertEqual(client.classify(text.encode()), want[0])
            self.assertEqual(client.classify(tuple(tokens)), want[1])
            explained = client.classify(text, explain=True)
            self.assertEqual(len(explained["explain"]["layers"]), client.model["layers"])
            tail = client.classify(tokens, window={"policy": "tail", "length": 4})
            self.assertEqual((tail["window"]["start"], tail["length"]), (1, 5))
            self.assertEqual(client.close(), 0)

    def test_embed_returns_output_of_embed(self):
        want = program_output("embed", "pre", {"text": "[MAX 2 9 ]"})
        with start("pre") as client:
            self.assertEqual([client.embed("[MAX 2 9 ]")], want)

    def test_score_returns_output_of_predict(self):
        want = program_output("predict", "retrieval", {"text_a": "one", "tokens_b": [5, 6]})
        with start("retrieval") as client:
            self.assertEqual([client.score("one", [5, 6])], want)
            self.assertIn("explain_b", client.score("one", "two", explain=True))
            pairs = list(client.score_each([("one", [5, 6]), ("", "x")]))
            self.assertEqual(pairs[0], want[0])
            self.assertEqual(pairs[1].code, -32602)

    def test_other_tasks_return_output_of_predict(self):
        tokens = [1, 2, 3, 4]
        for model, method in (("regression", Client.predict), ("multilabel", Client.labels), ("tagging", Client.tag)):
            with self.subTest(model), start(model) as client:
                self.assertEqual([method(client, tokens)], program_output("predict", model, {"tokens": tokens}))
        for model, each in (("regression", Client.predict_each), ("multilabel", Client.labels_each), ("tagging", Client.tag_each)):
            with self.subTest(model), start(model) as client:
                self.assertEqual(list(each(client, [tokens])), program_output("predict", model, {"tokens": tokens}))

    def test_clouds_and_graphs_return_output_of_predict(self):
        cloud = {"features": [[0.5, 0, 0, 1, 0.1, 0.2, 0.3], [0.25, 0, 1, 0, -0.1, 0.4, 0]]}
        graph = {"features": [[1.5, 0], [0.5, -1]], "edges": [[0, 1, 1, 0.5]]}
        for model, sequence in (("clouds", cloud), ("graphs", graph)):
            with self.subTest(model), start(model) as client:
                self.assertEqual([client.classify(sequence)], program_output("predict", model, sequence))
                self.assertEqual([client.embed(sequence)], program_output("embed", model, sequence))

    @unittest.skipUnless((GOLDEN / "parts").exists(), "go test -run TestPythonClient makes the models")
    def test_tags_return_output_of_predict(self):
        cloud = {"features": [[0.5, 0, 0, 1, 0.1, 0.2, 0.3], [0.25, 0, 1, 0, -0.1, 0.4, 0]]}
        graph = {"features": [[1.5, 0], [0.5, -1], [1, 1]], "edges": [[0, 1, 1, 0.5]]}
        for model, sequence, count in (("parts", cloud, 2), ("nodes", graph, 3)):
            with self.subTest(model), start(model) as client:
                want = program_output("predict", model, sequence)
                self.assertEqual([client.tag(sequence)], want)
                self.assertEqual(list(client.tag_each([sequence])), want)
                self.assertEqual([len(want[0]["tags"]), len(want[0]["scores"]), want[0]["length"]], [count] * 3)

    def test_sliding_windows_of_other_tasks(self):
        tokens, sliding = [1, 2, 3, 4, 5], {"policy": "sliding", "length": 4, "stride": 1}
        for model, method, each, field in (
            ("regression", Client.predict, Client.predict_each, "numbers"),
            ("multilabel", Client.labels, Client.labels_each, "labels"),
        ):
            with self.subTest(model), start(model) as client:
                whole = method(client, tokens, window=sliding)
                want = [method(client, tokens[:4])[field], method(client, tokens[1:])[field]]
                self.assertEqual([w[field] for w in whole["windows"]], want)
                self.assertEqual(list(each(client, [tokens], window=sliding)), [whole])

    def test_index(self):
        with tempfile.TemporaryDirectory() as folder, start("pre", "--index", f"{folder}/i.arrow") as client:
            self.assertEqual(client.add("a", [1, 2, 3])["id"], "a")
            added = list(client.add_each((n, [4 + n, 9]) for n in range(5)))
            self.assertEqual([a["id"] for a in added], ["0", "1", "2", "3", "4"])
            self.assertEqual(client.search([5, 9], k=1)["items"][0]["id"], "1")
            self.assertEqual([f["items"][0]["id"] for f in client.search_each([[1, 2, 3], [8, 9]], k=1)], ["a", "4"])
            self.assertEqual(client.remove("a", "b"), {"removed": 1, "unknown": ["b"]})
            self.assertEqual(client.stats()["index"]["items"], 5)
            self.assertEqual(client.info(), client.model)


class Streams(unittest.TestCase):
    def test_in_order_with_errors(self):
        sequences = [[1 + n % 16] * (1 + n % 50) if n % 7 else [] for n in range(500)]
        want = program_output("predict", "pre", *({"tokens": s} for s in sequences if s))
        with start("pre") as client:
            got = list(client.classify_each(iter(sequences), ahead=16))
        self.assertEqual([a for a in got if not isinstance(a, ServerError)], want)
        self.assertEqual([n for n, a in enumerate(got) if isinstance(a, ServerError)], list(range(0, 500, 7)))

    def test_stream_reads_at_most_ahead_elements(self):
        read_count = 0

        def endless():
            nonlocal read_count
            for n in itertools.count():
                read_count += 1
                yield [1 + n % 16]

        with start("pre") as client:
            stream = client.embed_each(endless(), ahead=8)
            self.assertEqual(read_count, 0)
            next(stream)
            time.sleep(0.2)
            self.assertEqual(read_count, 8)
            for _ in range(20):
                next(stream)
            self.assertEqual(read_count, 28)
            stream.close()
            self.assertEqual(client.classify([1])["length"], 1)

    def test_leaving_the_loop_cancels_pending_requests(self):
        with start("pre") as client:
            for _ in client.classify_each([[1] * 4096] * 64):
                break
            for _ in range(200):
                if client.stats()["cancelled"] > 0:
                    break
                time.sleep(0.02)
            else:
                self.fail("no request was cancelled after 4 s")

    def test_retry_when_busy(self):
        with start("pre", "--max-inflight", "2") as client:
            got = list(client.classify_each(([1 + n % 16, 3] for n in range(200)), ahead=50))
            self.assertEqual(sum("label" in a for a in got), 200)
            self.assertGreater(client.stats()["errors"].get("-32000", 0), 0)
        with start("pre", "--max-inflight", "1", patience=0) as client:
            first = client.request("sequence/classify", {"sequences": [{"tokens": [1] * 4096}] * 100})
            with self.assertRaises(ServerError) as busy:
                client.classify([1])
            self.assertGreater(busy.exception.retry_after, 0)
            first.cancel()

    def test_ahead_below_one_is_rejected(self):
        with start("pre") as client, self.assertRaisesRegex(ValueError, "ahead: expected at least 1, found 0"):
            client.classify_each([], ahead=0)

    def test_concurrent_requests_of_threads(self):
        want = program_output("predict", "pre", *({"tokens": [n, 3]} for n in range(1, 17)))
        with start("pre") as client:
            wrong = []

            def work(k):
                for n in range(50):
                    token = 1 + (n + k) % 16
                    if client.classify([token, 3]) != want[token - 1]:
                        wrong.append(token)

            threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual(wrong, [])


class Documents(unittest.TestCase):
    def test_edits_in_characters(self):
        with start("tagging") as client, client.open("note", "Zoë 😀 met Ann") as document:
            self.assertEqual(document.wait(60)["version"], 1)
            document.replace(4, 5, "Bø")
            self.assertEqual(document.text, "Zoë Bø met Ann")
            document.replace(0, 3, "Ünä")
            want = client.tag(document.text)
            got = document.wait(60)
            self.assertEqual((got["version"], got["spans"]), (3, want["spans"]))
            self.assertEqual(client.tag(document)["spans"], want["spans"])
            document.set("Ann")
            self.assertEqual(document.wait(60)["version"], 4)

    def test_other_tasks(self):
        for model, method, names in (("regression", "predict", ["numbers"]), ("multilabel", "labels", ["labels", "probabilities"])):
            with start(model) as client, client.open("d", "[MAX 2 9 ]") as document:
                published, want = document.wait(60), getattr(client, method)("[MAX 2 9 ]")
                self.assertEqual([published[name] for name in names], [want[name] for name in names])

    def test_invalid_documents(self):
        with start("pre") as client:
            document = client.open("d", "")
            with self.assertRaisesRegex(ServerError, "empty"):
                document.wait(60)
            document.set("[MAX 2 9 ]")
            self.assertEqual(document.wait(60)["label"], client.classify("[MAX 2 9 ]")["label"])
            with self.assertRaisesRegex(ValueError, "start <= end <= 10, found 5 and 11"):
                document.replace(5, 11, "")
            with self.assertRaises(UnicodeError):
                document.replace(0, 0, "\ud83d")
            self.assertEqual((document.text, document.version), ("[MAX 2 9 ]", 2))
            with self.assertRaises(UnicodeError):
                client.open("e", "\ud83d")
            with self.assertRaisesRegex(ValueError, "d: the document is already open"):
                client.open("d", "x")
            document.close()
            with self.assertRaises(ServerError):
                client.classify(document)
            with client.open("d", "[MIN 1 2 ]", window={"policy": "head"}) as again:
                self.assertEqual(again.wait(60)["version"], 1)

    def test_model_without_published_results(self):
        with start("fill_mask") as client, client.open("d", "x") as document, self.assertRaises(TimeoutError):
            document.wait(0.3)


class Connections(unittest.TestCase):
    def test_sockets(self):
        with start_server("pre") as (_, unix, tcp):
            with Client.connect(unix) as a, Client.connect(tcp) as b:
                self.assertEqual(a.classify([1]), b.classify([1]))
                self.assertIsNone(a.close())

    def test_addresses(self):
        for address in ("", "unix:", "tcp:host", "tcp:host:port", "http://host"):
            with self.assertRaisesRegex(ValueError, "expected unix:PATH or tcp:HOST:PORT"):
                Client.connect(address)
        with self.assertRaises(OSError):
            Client.connect("unix:/no/such/socket")
        with start_server("pre", "--framing", "lsp") as (_, unix, _):
            with self.assertRaisesRegex(ConnectionError, "must run with --framing lines"):
                Client.connect(unix)

    def test_a_server_that_does_not_start(self):
        with self.assertRaises(OSError):
            start("pre", "x").close()
        with self.assertRaises(FileNotFoundError):
            Client.start("model", program="/no/such/program")

    def test_a_server_that_dies(self):
        with start_server("pre") as (server, unix, _), contextlib.ExitStack() as stack:
            client = stack.enter_context(Client.connect(unix))
            document = client.open("d", "[MAX 2 9 ]")
            document.wait(60)
            pending = [client.request("sequence/classify", {"sequences": [{"tokens": [1] * 4096}] * 50}) for _ in range(3)]
            server.kill()
            for future in pending:
                with self.assertRaises(ConnectionError):
                    future.result(timeout=60)
            with self.assertRaises(ConnectionError):
                client.classify([1])
            with self.assertRaises(ConnectionError):
                document.replace(0, 0, " ")

    def test_wait_ends_when_the_server_dies(self):
        with start_server("pre", "--debounce", "10m") as (server, unix, _), contextlib.ExitStack() as stack:
            client = stack.enter_context(Client.connect(unix))
            document = client.open("d", "1")
            client.classify([1])
            threading.Timer(0.2, server.kill).start()
            with self.assertRaises(ConnectionError):
                document.wait(60)

    def test_exception_stops_the_server_immediately(self):
        began = time.monotonic()
        with self.assertRaises(KeyError), start("pre") as client:
            window = {"policy": "sliding", "length": 2048, "stride": 1}  # work for minutes
            client.request("sequence/classify", {"sequences": [{"tokens": [1] * 4096, "window": window}] * 100})
            raise KeyError
        self.assertLess(time.monotonic() - began, 30)

    def test_a_handler_that_fails(self):
        with start("pre") as client, self.assertLogs("sftseq", "ERROR"):
            client.request("sequence/classify", {"sequences": [{"tokens": [1]}]}, on_results=lambda _: 1 / 0).result()
            self.assertEqual(client.classify([1])["length"], 1)

    def test_errors(self):
        with start("pre") as client:
            for params in ([99], [], "", "\ud83d"):
                with self.assertRaises(ServerError) as e:
                    client.classify(params)
                self.assertEqual(e.exception.code, -32602)
                self.assertIsNone(e.exception.retry_after)
            with self.assertRaisesRegex(ServerError, "-32601.*use sequence/classify"):
                client.score("1", "2")
            self.assertNotIn("retrieval/score", client.methods)
            with self.assertRaises(ValueError):
                client.request("sequence/classify", {"tokens": [float("nan")]})


class Readme(unittest.TestCase):
    def test_examples_run(self):
        blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
        self.assertGreaterEqual(len(blocks), 5)
        here, path = os.getcwd(), os.environ["PATH"]
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(f"{folder}/runs")
            os.symlink(GOLDEN / "pre", f"{folder}/runs/listops")
            os.makedirs(f"{folder}/bin")
            os.symlink(os.path.abspath(PROGRAM), f"{folder}/bin/sftseq")
            try:
                os.chdir(folder)
                os.environ["PATH"] = f"{folder}/bin{os.pathsep}{path}"
                command = ["sftseq", "serve", "--model", "runs/listops", "--listen", "unix:sftseq.sock", "--index", "items.arrow"]
                with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
                    while "listening" not in server.stderr.readline():
                        pass
                    for block in blocks:
                        with self.subTest(block):
                            printed = io.StringIO()
                            with contextlib.redirect_stdout(printed):
                                exec(compile(block, str(README), "exec"), {})
                            self.assertTrue(printed.getvalue())
                    server.terminate()
            finally:
                os.chdir(here)
                os.environ["PATH"] = path


if __name__ == "__main__":
    unittest.main()
