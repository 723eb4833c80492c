// Runs a model that sftseq export onnx has written:
//
//     node run.mjs MODEL.onnx < sequences.jsonl
//
// It reads JSON lines with id and tokens, of a model of pairs tokens_a and tokens_b, and writes
// JSON lines with id and the outputs of the model as flat lists, or an error.

import { createInterface } from "node:readline";
import ort from "onnxruntime-node";

const session = await ort.InferenceSession.create(process.argv[2], { intraOpNumThreads: 1, logSeverityLevel: 4 });
const ids = (tokens) => new ort.Tensor("int64", BigInt64Array.from(tokens, BigInt), [tokens.length]);

for await (const line of createInterface({ input: process.stdin })) {
  const { id, tokens, tokens_a, tokens_b } = JSON.parse(line);
  let answer;
  try {
    answer = await session.run(tokens ? { tokens: ids(tokens) } : { a: ids(tokens_a), b: ids(tokens_b) });
    for (const name of session.outputNames) answer[name] = Array.from(answer[name].data, Number);
  } catch (e) {
    answer = { error: e.message };
  }
  console.log(JSON.stringify({ id, ...answer }));
}
