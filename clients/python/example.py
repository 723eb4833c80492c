#!/usr/bin/env python3
"""Shows classification, streams, progress, cancellation and documents with `sftseq serve`. Needs a classifier.

    make build
    PYTHONPATH=clients/python/src python3 clients/python/example.py ./sftseq runs/listops

or connect to a running server, which may have other clients:

    ./sftseq serve --model runs/listops --listen unix:sftseq.sock &
    PYTHONPATH=clients/python/src python3 clients/python/example.py unix:sftseq.sock
"""

import sys

from sftseq import Client, ServerError


def main(client):
    model = client.model
    print(f"model: {model['name']}, labels {model['labels']}")
    if model["task"] != "classification":
        sys.exit("this example needs a classifier")

    result = client.classify("[MAX 2 9 ]")
    print(f"classify: label {result['label']}, {result['length']} tokens")

    # A stream of sequences. A failed sequence yields its error.
    many = ["[MIN 4 7 ]", [], "[SM 5 [MED 1 2 3 ] 8 ]"]
    for n, result in enumerate(client.classify_each(many)):
        print(f"many: {n}", result.message if isinstance(result, ServerError) else result["label"])

    # Classify the same sequences in one request, with progress in tokens.
    client.request(
        "sequence/classify",
        {"sequences": [{"text": many[0]}, {"tokens": []}, {"text": many[2]}]},
        on_progress=lambda v: print("progress:", v.get("message", v["kind"])),
        on_results=lambda v: print("partial results:", *(r["index"] for r in v["results"])),
    ).result()

    # Cancel a long request.
    long = {"sequences": [{"tokens": [1] * min(4096, model["longestLength"])}] * 200}
    future = client.request("sequence/classify", long)
    future.cancel()
    try:
        print("cancel: too late,", len(future.result()["results"]), "results")
    except ServerError as e:
        print("cancel:", e)

    # The server classifies a document after a pause in editing. Version 2 is replaced
    # immediately, so it is not classified.
    with client.open("file:///expression", "[MAX 2 9 ]") as document:
        print("pushed: version {version}, label {label}".format(**document.wait(60)))
        document.replace(5, 6, "[MIN 4 7 ]")
        document.replace(16, 17, "3")
        print("pushed: version {version}, label {label}".format(**document.wait(60)))

    print("closed:", client.close())


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(Client.connect(sys.argv[1]))
    elif len(sys.argv) > 2:
        main(Client.start(sys.argv[2], *sys.argv[3:], program=sys.argv[1]))
    else:
        sys.exit(__doc__)
