#!/usr/bin/env python3
"""Measures sftseq alternately with sft_torch_cpu.py, the PyTorch program of the same model.

Prints medians, and the median and range of the ratios within pairs, as Markdown; see docs/performance.md.
PyTorch needs a fast BLAS library, otherwise the ratios are meaningless (Debian: apt-get install
python3-torch libopenblas0-pthread).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

# Alternative implementations of the model in the PyTorch program. Which of them is the fastest depends
# on the machine.
VARIANTS = [("sin", "cdist"), ("sin", "loop"), ("table", "cdist"), ("table", "loop")]
TABLE_VARIANT = ("sin", "loop")
TOKENS = 8 * 2048  # tokens in the PyTorch program's batch
FIGURES = {"forward": "fwd", "train": "fwd+bwd"}


def measure_sftseq(options, what, *flags):
    """Returns the JSON lines of sftseq bench."""
    command = [options.sftseq, "bench", what, "--device", "cpu", "--threads", str(options.threads), "--reps", "1", "--json", *flags]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure_peer(options, what, variant):
    """Returns the seconds that the PyTorch program measures, by name."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "figures.json")
        command = [sys.executable, options.peer, "bench", what, "--rel", variant[0], "--score", variant[1]]
        subprocess.run(command + ["--threads", str(options.threads), "--reps", "1", "--json", path], check=True, stdout=subprocess.DEVNULL)
        with open(path) as file:
            return json.load(file)


def listops(options, variant):
    """Returns the PyTorch program's seconds of forward and train."""
    seconds = measure_peer(options, "listops", variant)
    name = f"listops rel={variant[0]} score={variant[1]} threads={options.threads}"
    return {what: seconds[f"{name} {figure} s"] for what, figure in FIGURES.items()}


def table(columns, rows):
    for row in [columns, ["---"] * len(columns), *rows]:
        print("| " + " | ".join(row) + " |")


def spread(values):
    return [f"{v:.2f}" for v in (statistics.median(values), min(values), max(values))]


def model(options):
    """Compares tokens per second of the paper's model of ListOps. A ratio above 1 is in sftseq's favour."""
    measured = {v: listops(options, v) for v in VARIANTS}
    chosen = {min(VARIANTS, key=lambda v: measured[v][what]) for what in FIGURES}
    ours, theirs = {what: [] for what in FIGURES}, {what: [] for what in FIGURES}
    for _ in range(options.pairs):
        for line in measure_sftseq(options, "model", "--config", "listops", "--length", "2048", "--batch", "8"):
            ours[line["what"]].append(line["tokens_per_s"])
        pair = [listops(options, v) for v in chosen]
        for what in FIGURES:
            theirs[what].append(TOKENS / min(p[what] for p in pair))
    rows = []
    for what in FIGURES:
        ratios = [a / b for a, b in zip(ours[what], theirs[what])]
        rows.append([what, f"{statistics.median(ours[what]):.0f}", f"{statistics.median(theirs[what]):.0f}", *spread(ratios)])
    table(["what", "tokens/s", "PyTorch tokens/s", "ratio", "minimum", "maximum"], rows)


def runtime(options):
    """Compares seconds per layer of the paper's runtime table. A ratio below 1 is in sftseq's favour."""
    pairs = [(measure_sftseq(options, "runtime"), measure_peer(options, "table", TABLE_VARIANT)) for _ in range(options.pairs)]
    transformer = [seconds["table transformer full-1024 fwd s/layer"] for _, seconds in pairs]
    rows = []
    for i, layer in enumerate(pairs[0][0]):
        ours, sft = [lines[i]["seconds"] for lines, _ in pairs], ""
        if layer["layer"] == "sft" and layer["relative"] != "none":
            name = f"table sft rel={TABLE_VARIANT[0]} score={TABLE_VARIANT[1]} k={layer['k']} fwd s/layer"
            sft = f"{1e3 * statistics.median(seconds[name] for _, seconds in pairs):.1f} ms"
        ratios = [a / b for a, b in zip(ours, transformer)]
        rows.append([layer["layer"], layer["relative"], str(layer["k"]), f"{1e3 * statistics.median(ours):.1f} ms", *spread(ratios), sft])
    table(["layer", "relative", "k", "time", "ratio to PyTorch's transformer", "minimum", "maximum", "SFT in PyTorch"], rows)
    print(f"\nA layer of PyTorch's transformer takes {1e3 * statistics.median(transformer):.1f} ms.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["model", "runtime"])
    parser.add_argument("peer", help="path of sft_torch_cpu.py")
    parser.add_argument("--sftseq", default="./sftseq", help="path of sftseq (default ./sftseq)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of each program (default 1)")
    parser.add_argument("--pairs", type=int, default=5, help="number of pairs of measurements (default 5)")
    options = parser.parse_args()
    {"model": model, "runtime": runtime}[options.what](options)


if __name__ == "__main__":
    main()
