// Runs a model of sftseq export onnx:
//
//     node run.mjs MODEL.onnx < sequences.jsonl
//
// It reads JSON lines with id and tokens; a pair model reads tokens_a and tokens_b. A model with n-grams of
// words also reads word_hashes (for a pair word_hashes_a and word_hashes_b), a list of strings. A model of
// points or nodes reads features. If its relative encoding is "edges", it also reads edges: source, target
// and features of each edge. The script writes JSON lines with the id and either the model's outputs, as
// flat lists, or an error.

import { createInterface } from "node:readline";
import ort from "onnxruntime-node";

const session = await ort.InferenceSession.create(process.argv[2], { intraOpNumThreads: 1, logSeverityLevel: 4 });
const ids = (tokens, ...shape) => new ort.Tensor("int64", BigInt64Array.from(tokens, BigInt), shape.length ? shape : [tokens.length]);
const widths = new Map(session.inputMetadata.map(({ name, shape }) => [name, shape[1]]));

// flat concatenates the rows of an input, and checks the number of values per row.
function flat(name, rows) {
  const width = widths.get(name);
  const invalid = rows.findIndex((row) => row.length !== width || !row.every(Number.isFinite));
  if (invalid >= 0) throw new Error(`${name}: row ${invalid}: expected ${width} numbers, found ${JSON.stringify(rows[invalid])}`);
  return rows.flat();
}

const numbers = (name, rows) => new ort.Tensor("float32", Float32Array.from(flat(name, rows)), [rows.length, widths.get(name)]);

function inputs({ tokens, tokens_a, tokens_b, features, edges = [], ...sequence }) {
  if (!features) {
    const read = tokens_a ? { a: ids(tokens_a), b: ids(tokens_b) } : { tokens: ids(tokens) };
    for (const name of ["word_hashes", "word_hashes_a", "word_hashes_b"]) if (widths.has(name)) read[name] = ids(sequence[name]);
    return read;
  }
  const read = { features: numbers("features", features) };
  if (widths.has("edges")) read.edges = ids(flat("edges", edges.map((edge) => edge.slice(0, 2))), edges.length, 2);
  if (widths.has("edge_features")) read.edge_features = numbers("edge_features", edges.map((edge) => edge.slice(2)));
  return read;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...sequence } = JSON.parse(line);
  let outputs;
  try {
    outputs = await session.run(inputs(sequence));
    for (const name of session.outputNames) outputs[name] = Array.from(outputs[name].data, Number);
  } catch (e) {
    outputs = { error: e.message };
  }
  console.log(JSON.stringify({ id, ...outputs }));
}
