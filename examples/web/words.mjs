// Hashes of words: an input of models of bytes with n-grams of words (docs/export.md). internal/export/word_hashes.py computes
// the same in Python.

const secret = Uint8Array.from(
  ("b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c" +
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364" +
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e").match(/../g),
  (digits) => parseInt(digits, 16),
);

const low = (x) => BigInt.asUintN(64, x);
const [p1, p2, p3] = [0x9e3779b185ebca87n, 0xc2b2ae3d27d4eb4fn, 0x165667b19e3779f9n];

// read returns size bytes at an offset as a little-endian number.
function read(bytes, at, size = 8) {
  let value = 0n;
  for (let i = size - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[at + i]);
  return value;
}

const key = (at) => read(secret, at);
const fold = (a, b) => ((a * b) >> 64n) ^ low(a * b);
const mix = (h, ...steps) => steps.reduce((x, [shift, factor]) => low((x ^ (x >> shift)) * factor), low(h));
const avalanche = (h) => mix(h, [37n, 0x165667919e3779f9n], [32n, 1n]);

/** Returns the XXH3-64 of bytes with seed 0: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md. */
export function xxh3(data) {
  const n = data.length;
  const length = BigInt(n);
  const pair = (at, k) => fold(read(data, at) ^ key(k), read(data, at + 8) ^ key(k + 8));
  const last = [[33n, p2], [29n, p3], [32n, 1n]];
  if (n === 0) return mix(key(56) ^ key(64), ...last);
  if (n <= 3) {
    const h = BigInt(((data[0] << 16) | (data[n >> 1] << 24) | data[n - 1] | (n << 8)) >>> 0);
    return mix(h ^ read(secret, 0, 4) ^ read(secret, 4, 4), ...last);
  }
  if (n <= 8) {
    let h = (read(data, n - 4, 4) + (read(data, 0, 4) << 32n)) ^ key(8) ^ key(16);
    h = low(h ^ ((h << 49n) | (h >> 15n)) ^ ((h << 24n) | (h >> 40n)));
    h = low(h * 0x9fb21c651e98df25n);
    return mix((h ^ ((h >> 35n) + length)) * 0x9fb21c651e98df25n, [28n, 1n]);
  }
  if (n <= 16) {
    const [a, b] = [read(data, 0) ^ key(24) ^ key(32), read(data, n - 8) ^ key(40) ^ key(48)];
    let swapped = 0n;
    for (let i = 0n; i < 64n; i += 8n) swapped = (swapped << 8n) | ((a >> i) & 255n);
    return avalanche(length + swapped + b + fold(a, b));
  }
  let sum = length * p1;
  if (n <= 128) {
    for (let i = 0; i < (n + 31) >> 5; i++) sum += pair(16 * i, 32 * i) + pair(n - 16 * (i + 1), 32 * i + 16);
    return avalanche(sum);
  }
  if (n <= 240) {
    for (let i = 0; i < 8; i++) sum += pair(16 * i, 16 * i);
    sum = avalanche(sum) + pair(n - 16, 119);
    for (let i = 8; i < n >> 4; i++) sum += pair(16 * i, 16 * i - 125);
    return avalanche(sum);
  }
  let acc = [0xc2b2ae3dn, p1, p2, p3, 0x85ebca77c2b2ae63n, 0x85ebca77n, 0x27d4eb2f165667c5n, 0x9e3779b1n];
  const stripe = (at, k) => {
    for (let i = 0; i < 8; i++) {
      const value = read(data, at + 8 * i);
      const keyed = value ^ key(k + 8 * i);
      acc[i ^ 1] = low(acc[i ^ 1] + value);
      acc[i] = low(acc[i] + (keyed & 0xffffffffn) * (keyed >> 32n));
    }
  };
  for (let s = 0; s < (n - 1) >> 6; s++) {
    stripe(64 * s, (s % 16) * 8);
    if (s % 16 === 15) acc = acc.map((a, i) => low((a ^ (a >> 47n) ^ key(128 + 8 * i)) * 0x9e3779b1n));
  }
  stripe(n - 64, 121);
  for (let i = 0; i < 4; i++) sum += fold(acc[2 * i] ^ key(11 + 16 * i), acc[2 * i + 1] ^ key(19 + 16 * i));
  return avalanche(sum);
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

// character returns the character at an offset of UTF-8 and its size in bytes, or ["", 1] for a byte that is not UTF-8.
function character(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return [String.fromCharCode(first), 1];
  const size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  try {
    return [decoder.decode(bytes.subarray(at, at + size)), size];
  } catch {
    return ["", 1];
  }
}

// The hashes of words of letters, digits and marks.
const hashes = new Map();

// hashOf returns the hash of a word. Long words are rare, so only short ones are kept.
function hashOf(word) {
  let h = hashes.get(word);
  if (h === undefined) {
    h = xxh3(encoder.encode(word));
    if (word.length <= 32 && hashes.size < 1e5) hashes.set(word, h);
  }
  return h;
}

/**
 * Returns a BigInt64Array with a number for each id: at the last byte of a word the XXH3-64 of the word in lower case, else 0.
 * A word is a run of letters, digits and marks, or any other character except white space. A byte that is not UTF-8 is a word.
 * An id is a byte plus 1; the id 0 (padding) is a word whose hash is that of an empty text.
 */
export function wordHashes(ids) {
  const bytes = Uint8Array.from(ids, (id) => id - 1);
  const out = new BigInt64Array(bytes.length);
  let word = "";
  let at = 0;
  while (at < bytes.length) {
    const [c, size] = character(bytes, at);
    if (/[\p{L}\p{M}\p{Nd}]/u.test(c)) word += String.fromCodePoint(c.toLowerCase().codePointAt(0));
    else {
      if (word) out[at - 1] = BigInt.asIntN(64, hashOf(word));
      word = "";
      if (!/[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/.test(c))
        out[at + size - 1] = BigInt.asIntN(64, xxh3(bytes.subarray(at, ids[at] ? at + size : at)));
    }
    at += size;
  }
  if (word) out[at - 1] = BigInt.asIntN(64, hashOf(word));
  return out;
}
