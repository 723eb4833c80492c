// Classifies text in the browser with a model of sftseq export onnx. The model's tokens are bytes ({"type":"byte"}) or
// words. For words, the export also writes NAME.tokenizer.json beside NAME.onnx.

import * as ort from "./node_modules/onnxruntime-web/dist/ort.wasm.min.mjs";
import { wordHashes } from "./words.mjs";

ort.env.wasm.numThreads = 1; // several threads need a cross-origin isolated page

// fields yields the number and the content of each length-delimited field of a Protocol Buffers message.
function* fields(bytes) {
  let at = 0;
  const varint = () => {
    for (let value = 0, factor = 1; ; factor *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    if (tag % 8 === 0) varint();
    else if (tag % 8 === 2) {
      const size = varint();
      yield [Math.floor(tag / 8), bytes.subarray(at, (at += size))];
    } else throw new Error("not an ONNX file of sftseq");
  }
}

// metadata returns the metadata of an ONNX file, which the runtime does not expose.
function metadata(file) {
  const text = (bytes) => new TextDecoder().decode(bytes);
  const entries = [];
  for (const [field, bytes] of fields(file)) {
    if (field !== 14) continue;
    const entry = Object.fromEntries(fields(bytes));
    entries.push([text(entry[1]), text(entry[2])]);
  }
  return Object.fromEntries(entries);
}

// fetchFile returns the response to a request for a file. It throws an error for an HTTP error status.
async function fetchFile(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response;
}

// makeEncoder returns a function that converts text to token ids with the tokenizer of the model at url.
async function makeEncoder(tokenizer, url) {
  if (tokenizer.type === "byte") return (text) => Array.from(new TextEncoder().encode(text), (byte) => byte + 1);
  const [{ Tokenizer }, file] = await Promise.all([
    import("./node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs"),
    fetchFile(url.replace(/\.onnx$/, ".tokenizer.json")).then((response) => response.json()),
  ]);
  const words = new Tokenizer(file, { unk_token: "[UNK]" });
  return (text) => words.encode(text).ids;
}

/**
 * Reads a model and returns an asynchronous function that classifies a text, or a Uint8Array if the model's tokens are
 * bytes. The function returns [{label, probability}, …], the most probable label first.
 */
export async function load(url) {
  const file = new Uint8Array(await (await fetchFile(url)).arrayBuffer());
  const properties = metadata(file);
  const tokenizer = JSON.parse(properties.tokenizer);
  if (properties.task !== "classification" || !["byte", "words"].includes(tokenizer.type))
    throw new Error(`expected a classification model of bytes or words, found the task ${properties.task} and the tokenizer ${tokenizer.type}`);
  const encode = await makeEncoder(tokenizer, url);
  const unit = tokenizer.type === "byte" ? "bytes" : "words";
  const names = properties.label_names && JSON.parse(properties.label_names);
  const session = await ort.InferenceSession.create(file, { executionProviders: ["wasm"] });
  const readsWords = session.inputNames.includes("word_hashes"); // only models of bytes
  return async (text) => {
    const ids = typeof text === "string" ? encode(text) : Array.from(text, (byte) => byte + 1);
    const tokens = BigInt64Array.from(ids, BigInt);
    if (tokens.length === 0) throw new Error("the text is empty");
    if (tokens.length > properties.max_length && !properties.input_window)
      throw new Error(`the text has ${tokens.length} ${unit}, but the model accepts at most ${properties.max_length}`);
    const inputs = { tokens: new ort.Tensor("int64", tokens, [tokens.length]) };
    if (readsWords) inputs.word_hashes = new ort.Tensor("int64", wordHashes(ids), [tokens.length]);
    const { logits } = await session.run(inputs);
    const largest = Math.max(...logits.data);
    const odds = Array.from(logits.data, (v) => Math.exp(v - largest));
    const sum = odds.reduce((a, b) => a + b);
    return odds.map((o, i) => ({ label: names ? names[i] : i, probability: o / sum })).sort((a, b) => b.probability - a.probability);
  };
}
