"""Scores a data frame with sftseq and mapInArrow of Spark (3.3 or later).

    spark-submit score.py ./sftseq runs/listops texts.parquet predictions.parquet

Each task pipes its partition through one sftseq process, as an Arrow stream. Workers need the
program and the model at the same paths; spark-submit can distribute them with --files and
--archives. The input has the string columns `id` and `text`; the output has `id`, `label` and the
probabilities.
"""

import json
import subprocess
import sys
import threading

import pyarrow as pa
from pyspark.sql import SparkSession


def scorer(program, model):
    """Returns the function for mapInArrow, which pipes a partition through the program."""

    def score(batches):
        first = next(batches, None)
        if first is None:  # a partition without rows
            return
        process = subprocess.Popen(
            [program, "predict", "--model", model, "--input", "-", "--format", "arrow",
             "--text", "text", "--id", "id", "--shard", "0/1", "--output", "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        failed = []

        def feed():
            try:
                with process.stdin, pa.ipc.new_stream(process.stdin, first.schema) as writer:
                    writer.write_batch(first)
                    for batch in batches:
                        writer.write_batch(batch)
            except BaseException as error:  # reading a batch failed, or the process has ended
                failed.append(error)

        feeding = threading.Thread(target=feed)
        feeding.start()
        try:
            with pa.ipc.open_stream(process.stdout) as predictions:
                yield from predictions
        except pa.ArrowException as error:  # the output is incomplete if the process has failed
            failed.append(error)
        finally:
            process.stdout.close()
            feeding.join()
            status = process.wait()
        if status:  # standard error, the task's log, has the reason
            raise RuntimeError(f"sftseq ended with status {status}")
        if failed:
            raise failed[0]

    return score


def schema(config):
    """Returns the output columns. Labels without names are integers. A probability column is named
    probability_ plus the label's name, or its index if names are missing or not unique."""
    names = config.get("label_names")
    label = "string" if names else "bigint"
    if not names or len(set(names)) < len(names):
        names = range(config["num_labels"])
    probabilities = [f"probability_{name}".replace("`", "``") for name in names]
    return ", ".join(["`id` string", f"`label` {label}"] + [f"`{name}` float" for name in probabilities])


def main(program, model, texts, to):
    with open(f"{model}/config.json", encoding="utf-8") as file:
        columns = schema(json.load(file))
    spark = SparkSession.builder.getOrCreate()
    frame = spark.read.parquet(texts).select("id", "text")
    frame.mapInArrow(scorer(program, model), columns).write.parquet(to)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: spark-submit score.py SFTSEQ MODEL TEXTS PREDICTIONS")
    main(*sys.argv[1:])
