// Prints the rows of an Arrow file or stream as JSON lines, read by npm's apache-arrow.
import { readFileSync } from "node:fs";
import { tableFromIPC } from "apache-arrow";

const plain = (value) => value?.toArray ? Array.from(value.toArray(), plain)
  : typeof value === "bigint" ? Number(value)
  : value;
for (const row of tableFromIPC(readFileSync(process.argv[2])))
  console.log(JSON.stringify(Object.fromEntries(Object.entries(row.toJSON()).map(([name, value]) => [name, plain(value)]))));
