// Prints the ids that Hugging Face's libraries give for a JSON list of texts: node tokenize.mjs rust|javascript FILE.
import { readFileSync } from "node:fs";

const [, , library, file] = process.argv;
const texts = JSON.parse(readFileSync(0, "utf8"));
if (library === "rust") {
  const { default: tokenizers } = await import("tokenizers");
  const tokenizer = tokenizers.Tokenizer.fromFile(file);
  console.log(JSON.stringify(await Promise.all(texts.map(async (text) => (await tokenizer.encode(text)).getIds()))));
} else {
  const { Tokenizer } = await import("@huggingface/tokenizers");
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(file, "utf8")), { unk_token: "[UNK]" });
  console.log(JSON.stringify(texts.map((text) => tokenizer.encode(text).ids)));
}
