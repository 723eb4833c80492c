// Runs DuckDB for TestKeptTypes. `make FILE` writes a table of every type to a Parquet file. `compare IN OUT` prints the
// differences between the columns of IN and the columns of the same names of OUT, and nothing if there are none.
import { readFileSync, writeFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const columns = {
  key: "i::BIGINT",
  text: "'[MAX ' || i % 10 || ' 9 ]'",
  flag: "i % 2 = 0",
  i8: "(i - 128)::TINYINT",
  i16: "(i * 128 - 32768)::SMALLINT",
  i32: "CASE i WHEN 1 THEN -2147483648 WHEN 2 THEN 2147483647 ELSE i END::INTEGER",
  i64: "CASE i WHEN 1 THEN -9223372036854775808 WHEN 2 THEN 9223372036854775807 ELSE i * 1000000007 END::BIGINT",
  u8: "(i % 256)::UTINYINT",
  u16: "(65535 - i)::USMALLINT",
  u32: "(4294967295 - i)::UINTEGER",
  u64: "(18446744073709551615 - i)::UBIGINT",
  f32: "CASE i WHEN 1 THEN 1e-5 WHEN 2 THEN 3.4e38 WHEN 3 THEN 1e-45 ELSE i / 7 END::FLOAT",
  f64: "CASE i WHEN 1 THEN 1e-5 WHEN 2 THEN 1.7976931348623157e308 WHEN 3 THEN 'nan' WHEN 4 THEN 'inf' WHEN 5 THEN '-inf' ELSE 1700000009.953125 + i / 3 END::DOUBLE",
  d4: "(i / 10 - 12)::DECIMAL(4, 1)",
  d9: "(i * 1234.56)::DECIMAL(9, 2)",
  d18: "(-i * 100000000000.125)::DECIMAL(18, 3)",
  d38: "(i * 1234567890123456789.0123456789)::DECIMAL(38, 10)",
  day: "DATE '1899-12-30' + (i * 400)::INTEGER",
  clock: "TIME '00:00:00.5' + INTERVAL (i * 300000001) MICROSECOND",
  midnight: "TIME '24:00:00'",
  zoned_clock: "(TIME '01:02:03.25' + INTERVAL (i) SECOND)::TIMETZ",
  ts: "TIMESTAMP '1969-12-31 23:59:09.953125' + INTERVAL (i * 86400001) MICROSECOND",
  ts_s: "(TIMESTAMP '2024-01-02 03:04:05' + INTERVAL (i) SECOND)::TIMESTAMP_S",
  ts_ms: "(TIMESTAMP '2024-01-02 03:04:05.678' + INTERVAL (i) SECOND)::TIMESTAMP_MS",
  ts_ns: "make_timestamp_ns(1704164645123456789 + i)",
  ts_tz: "(TIMESTAMPTZ '2024-01-02 03:04:05.678+00' + INTERVAL (i) HOUR)",
  uuid: "md5(i::VARCHAR)::UUID",
  word: "('word ' || i)::VARCHAR",
  mood: "(CASE i % 2 WHEN 0 THEN 'good' ELSE 'bad' END)::mood",
  bytes: "('\\xFF\\x00'::BLOB || i::VARCHAR::BLOB)",
  json: `('{"a": ' || i || ', "b": [null]}')::JSON`,
  list: "[i, NULL, -i]::INTEGER[]",
  texts: `['a,"b', NULL, 'é' || i]`,
  floats: "[1e-5, i / 3, 'nan', '-inf']::DOUBLE[]",
  matrix: "[[i * 1.25], [], NULL]::DECIMAL(9, 2)[][]",
  times: "[TIMESTAMP '2024-01-02 03:04:05.000006' + INTERVAL (i) SECOND]",
  uuids: "[md5(i::VARCHAR)::UUID, NULL]",
  struct: "{'id': md5(i::VARCHAR)::UUID, 'day': DATE '2024-01-02' + i::INTEGER, 'none': NULL::INTEGER}",
  structs: `[{'a "b"': i, 'ts': [TIMESTAMP '2024-01-02 03:04:05']}, NULL]`,
  map: "MAP {DATE '2024-01-02': [i], DATE '2024-01-03': NULL}",
};

const db = await (await DuckDBInstance.create(":memory:")).connect();
const rows = async (sql) => (await db.runAndReadAll(sql)).getRowsJson();
const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
const [, , command, from, to] = process.argv;

if (command === "make") {
  await db.run("CREATE TYPE mood AS ENUM ('good', 'bad')");
  const list = Object.entries(columns).map(([name, sql]) =>
    name === "key" || name === "text" ? `${sql} AS ${name}` : `CASE WHEN i % 11 <> 0 THEN ${sql} END AS ${name}`);
  await db.run(`COPY (SELECT ${list.join(", ")} FROM range(250) r(i)) TO '${from}' (FORMAT parquet)`);
} else {
  const types = (await rows(`DESCRIBE FROM '${from}'`)).map(([name, type]) => [name, type]);
  const text = /\.(csv|jsonl)$/.exec(to)?.[1];
  const kept = types.filter(([name]) => !(text && name === "bytes")); // text has no bytes that are not UTF-8
  const nested = (type) => /\[\]$|^(STRUCT|MAP|JSON)\b/.test(type); // written as JSON
  const cast = (name, type) => nested(type) ? `::JSON::${type} AS ${quoted(name)}`
    : text ? `::${type} AS ${quoted(name)}` : "";
  if (text === "jsonl") // DuckDB reads numbers of JSON as doubles
    writeFileSync(`${to}.quoted`, readFileSync(to, "utf8").replace(/"(\w+)":(-?[0-9][^,}]*)/g, '"$1":"$2"'));
  const output = text === undefined ? `'${to}'`
    : text === "csv" ? `read_csv('${to}', all_varchar = true)`
      : `read_json('${to}.quoted', format = 'newline_delimited', columns = {${kept.map(([name]) => `${name}: 'VARCHAR'`).join(", ")}})`;
  const a = `SELECT ${kept.map(([name]) => quoted(name)).join(", ")} FROM '${from}'`;
  const b = `SELECT ${kept.map(([name, type]) => quoted(name) + cast(name, type)).join(", ")} FROM ${output}`;
  if (text === undefined) {
    const found = Object.fromEntries(await rows(`DESCRIBE FROM '${to}'`));
    for (const [name, type] of kept) {
      const want = nested(type) ? "VARCHAR" : type;
      if (found[name] !== want) console.log(`${name}: ${found[name]}, expected ${want}`);
    }
  }
  for (const sql of [`(${a}) EXCEPT (${b})`, `(${b}) EXCEPT (${a})`])
    for (const row of await rows(`FROM (${sql}) LIMIT 2`)) console.log(JSON.stringify(row));
  const [[count], [expected]] = await rows(`(SELECT count(*) FROM ${output}) UNION ALL (SELECT count(*) FROM '${from}')`);
  if (count !== expected || expected === "0") console.log(`${count} rows, expected ${expected}`);
  const texts = { times: '["2024-01-02 03:04:06.000006"]' }; // a cast reads others, too
  const exact = { ...texts, ts: "1970-01-01 00:00:36.353126", f32: "0.00001", midnight: "24:00:00" };
  for (const [name, want] of Object.entries(text ? exact : texts)) {
    const [[found]] = await rows(`SELECT ${name} FROM ${output} WHERE key::INTEGER = 1`);
    if (found !== want) console.log(`${name}: ${found}, expected ${want}`);
  }
}
