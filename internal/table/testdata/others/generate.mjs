// Writes tables with DuckDB, Polars, Apache Arrow's JavaScript and its Rust, from the
// same rows, which are beside them as JSON lines: see README.md.
import { createRequire } from 'node:module'
import { mkdirSync, writeFileSync, rmSync, statSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import * as arrow from 'apache-arrow'

const require = createRequire(import.meta.url)
const { DuckDBInstance } = require('@duckdb/node-api')
const pl = require('nodejs-polars')
const wasm = require('parquet-wasm')

const out = process.argv[2] ?? '.'
mkdirSync(out, { recursive: true })
const at = (name) => join(out, name)

// The rows. A number that JavaScript cannot hold is a BigInt; bytes are in hexadecimal.
const words = ['cat', 'dog', 'été', '']
const wholes = [-(2n ** 63n), 2n ** 63n - 1n, 0n, -1n, 1234567890123456789n]
const texts = ['plain', 'é "quoted", with comma', 'two\nlines\tand a tab', '', '🐈 and \\ and \u0001', 'x'.repeat(600) + 'end', '0123456789ab', '0123456789abc']
const one = (i) => ({
  text: texts[i % texts.length],
  word: words[i % words.length],
  whole: wholes[i % wholes.length],
  small: (i * 51) % 256,
  short: i * 2000 - 20000,
  huge: 2n ** 64n - 1n - BigInt(i),
  real: [0.1, -1e300, 1.5, 3][i % 4],
  single: [0.5, -2.25, 1024][i % 3],
  yes: i % 3 === 0,
  ids: Array.from({ length: i % 4 }, (_, k) => 1000 * k + i),
  pixels: Array.from({ length: i % 3 }, (_, k) => 255 - k),
  bytes: ['00ff', 'c328', '', '616263'][i % 4],
  day: `2024-02-${String(1 + i).padStart(2, '0')}`,
  object: { a: i },
})
const kinds = Array.from({ length: 24 }, (_, i) => {
  const row = one(i)
  Object.keys(row).forEach((name, c) => { if ((7 * i + 3 * c) % 11 === 4) row[name] = null })
  return row
})
// Many rows have several row groups, batches and pages.
const many = Array.from({ length: 2200 }, (_, i) => ({
  n: i,
  text: i % 13 === 5 ? null : `row ${i % 89} of ${words[i % 3]}`,
  ids: i % 17 === 3 ? null : Array.from({ length: i % 5 }, (_, k) => i + k),
  yes: i % 7 < 3,
}))

const line = (v) => v === null ? 'null' : typeof v === 'bigint' ? String(v)
  : Array.isArray(v) ? `[${v.map(line)}]`
    : typeof v === 'object' ? `{${Object.entries(v).map(([k, x]) => `${JSON.stringify(k)}:${line(x)}`)}}`
      : JSON.stringify(v)
const lines = (rows) => rows.map((row) => line(row) + '\n').join('')
writeFileSync(at('kinds.jsonl'), lines(kinds))
writeFileSync(at('many.jsonl.gz'), gzipSync(lines(many), { level: 9 }))

// DuckDB: Parquet.
const db = await (await DuckDBInstance.create(':memory:')).connect()
await db.run(`CREATE TABLE kinds AS SELECT * REPLACE (unhex(bytes) AS bytes) FROM read_json('${at('kinds.jsonl')}', format='newline_delimited', columns={
  text: 'VARCHAR', word: 'VARCHAR', whole: 'BIGINT', small: 'UTINYINT', short: 'SMALLINT', huge: 'UBIGINT', real: 'DOUBLE', single: 'FLOAT', yes: 'BOOLEAN',
  ids: 'INTEGER[]', pixels: 'UTINYINT[]', bytes: 'VARCHAR', day: 'DATE', object: 'STRUCT(a INTEGER)'})`)
await db.run(`CREATE TABLE many AS SELECT * FROM read_json('${at('many.jsonl.gz')}', format='newline_delimited', columns={n: 'INTEGER', text: 'VARCHAR', ids: 'INTEGER[]', yes: 'BOOLEAN'})`)
const copy = (table, name, options) => db.run(`COPY ${table} TO '${at(name)}' (FORMAT parquet, ${options})`)
for (const codec of ['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4_raw']) {
  await copy('kinds', `duckdb-${codec}.parquet`, `COMPRESSION ${codec}`)
}
await copy('kinds', 'duckdb-v2.parquet', `COMPRESSION zstd, PARQUET_VERSION v2, DICTIONARY_SIZE_LIMIT 1`)
await copy('many', 'duckdb-many.parquet', `COMPRESSION zstd, ROW_GROUP_SIZE 2048`)
await copy('many', 'duckdb-many-v2.parquet', `COMPRESSION snappy, PARQUET_VERSION v2, DICTIONARY_SIZE_LIMIT 1, ROW_GROUP_SIZE 2048`)

// Polars: Parquet and Arrow.
const frame = pl.readParquet(at('duckdb-uncompressed.parquet'))
for (const codec of ['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4']) {
  frame.writeParquet(at(`polars-${codec}.parquet`), { compression: codec })
}
for (const codec of ['uncompressed', 'lz4', 'zstd']) {
  frame.writeIPC(at(`polars-${codec}.arrow`), { compression: codec })
  frame.writeIPCStream(at(`polars-${codec}.arrows`), { compression: codec })
}
for (const level of ['newest', 'oldest']) {
  await frame.lazy().sinkIpc(at(`polars-${level}.arrow`), { compatLevel: level, compression: 'uncompressed' }).collect()
}
const category = frame.withColumns(pl.col('word').cast(pl.Categorical))
category.writeIPC(at('polars-category.arrow'), { compression: 'uncompressed' })
await pl.readParquet(at('duckdb-many.parquet')).lazy().sinkParquet(at('polars-many.parquet'), { compression: 'zstd', rowGroupSize: 1500 }).collect()

// Apache Arrow's JavaScript: Arrow.
const list = (type) => new arrow.List(new arrow.Field('item', type, true))
const types = (text) => ({
  text, word: new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8()), whole: new arrow.Int64(), small: new arrow.Uint8(), short: new arrow.Int16(), huge: new arrow.Uint64(),
  real: new arrow.Float64(), single: new arrow.Float32(), yes: new arrow.Bool(), ids: list(new arrow.Int32()), pixels: list(new arrow.Uint8()),
  bytes: new arrow.Binary(), day: new arrow.DateDay(), object: new arrow.Struct([new arrow.Field('a', new arrow.Int32(), true)]),
})
const value = (name, v) => v === null ? null : name === 'bytes' ? Buffer.from(v, 'hex') : name === 'day' ? new Date(v) : v
const table = (rows, types) => new arrow.Table(Object.fromEntries(Object.entries(types).map(([name, type]) =>
  [name, arrow.vectorFromArray(rows.map((row) => value(name, row[name])), type)])))
const batches = (all) => { // two, which share a schema and dictionaries
  const half = all.numRows >> 1
  return new arrow.Table([...all.slice(0, half).batches, ...all.slice(half).batches])
}
for (const [kind, text] of [['utf8', new arrow.Utf8()], ['large', new arrow.LargeUtf8()]]) {
  const whole = batches(table(kinds, types(text)))
  writeFileSync(at(`javascript-${kind}.arrow`), arrow.tableToIPC(whole, 'file'))
  writeFileSync(at(`javascript-${kind}.arrows`), arrow.tableToIPC(whole, 'stream'))
}

// Apache Arrow's Rust: Parquet of every encoding.
const { Compression, Encoding, WriterVersion, WriterPropertiesBuilder } = wasm
const rust = (name, rows, types, set) => writeFileSync(at(name), wasm.writeParquet(
  wasm.Table.fromIPCStream(arrow.tableToIPC(table(rows, types), 'stream')), set(new WriterPropertiesBuilder()).build()))
const codecs = { plain: Compression.UNCOMPRESSED, snappy: Compression.SNAPPY, gzip: Compression.GZIP, brotli: Compression.BROTLI, zstd: Compression.ZSTD, lz4raw: Compression.LZ4_RAW }
for (const [name, codec] of Object.entries(codecs)) {
  rust(`rust-${name}.parquet`, kinds, types(new arrow.Utf8()), (b) => b.setCompression(codec))
}
rust('rust-v2.parquet', kinds, types(new arrow.Utf8()), (b) => b.setCompression(Compression.ZSTD).setWriterVersion(WriterVersion.V2).setMaxRowGroupSize(10))
const delta = (b) => b.setCompression(Compression.ZSTD).setDictionaryEnabled(false).setMaxRowGroupSize(1000).setDataPageSizeLimit(4000)
rust('rust-lengths.parquet', many, { n: new arrow.Int32(), text: new arrow.Utf8(), ids: list(new arrow.Int32()), yes: new arrow.Bool() },
  (b) => delta(b).setColumnEncoding('n', Encoding.DELTA_BINARY_PACKED).setColumnEncoding('text', Encoding.DELTA_LENGTH_BYTE_ARRAY))
rust('rust-prefixes.parquet', many, { text: new arrow.Utf8() }, (b) => delta(b).setColumnEncoding('text', Encoding.DELTA_BYTE_ARRAY))
const real = { real: new arrow.Float64() }
rust('rust-split.parquet', kinds, real, (b) => b.setDictionaryEnabled(false).setColumnEncoding('real', Encoding.BYTE_STREAM_SPLIT))

const total = readdirSync(out).reduce((sum, name) => sum + statSync(at(name)).size, 0)
console.log(`${total} bytes in ${out}`)
