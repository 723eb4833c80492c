// Classifies a document with sftseq serve --http and a model that reads bytes in chunks, and finds the text of the
// chunks with the largest weights. The server computes only the chunks that an edit has changed.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// pieces splits a chunk of a document's bytes into pairs [text, weight]. A character has the largest weight of its
// bytes; bytes without a listed position have weight 0.
function pieces(bytes, { start, end, positions, weights }) {
  const weightOf = new Map(positions.map((at, i) => [at, weights[i]]));
  const continues = (at) => (bytes[at] & 0xc0) === 0x80; // not the first byte of a character
  const out = [];
  for (let at = start; at < end; ) {
    let next = at + 1;
    while (next < end && continues(next)) next++;
    let weight = 0;
    for (let i = at; i < next; i++) weight = Math.max(weight, weightOf.get(i) ?? 0);
    const last = out.at(-1);
    if (last && last.weight === weight) last.end = next;
    else out.push({ start: at, end: next, weight });
    at = next;
  }
  return out.map((p) => [decoder.decode(bytes.subarray(p.start, p.end)), p.weight]);
}

// RetryError is the error of a busy or unreachable server. The caller may retry after retryAfter seconds.
export class RetryError extends Error {
  constructor(message, retryAfter) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

/** Returns {label, probability, seconds, chunks: [{offset, weight, pieces: [[text, weight], …]}, …]} for a text. The
 * result has at most count chunks, those with the largest weights; offset is the number of UTF-16 code units before the
 * chunk; seconds is the duration of the request. Throws a RetryError if the server is busy or does not respond. */
export async function classify(server, text, { count = 5, signal } = {}) {
  const began = performance.now();
  let response;
  try {
    response = await fetch(`${server}/classify`, {
      method: "POST", signal,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ text, explain: true }),
    });
  } catch (e) {
    if (e.name === "AbortError") throw e;
    const origin = globalThis.location?.origin ?? "ORIGIN";
    throw new RetryError(`no response from ${server} (${e.message}): expected sftseq serve --http … --cors-origin ${origin}`, 2);
  }
  if (!response.ok) {
    const body = await response.json().catch(() => null); // a proxy may send HTML
    const message = body?.error?.message ?? `${server}: ${response.status} ${response.statusText}`;
    if (![429, 502, 503, 504].includes(response.status)) throw new Error(message);
    throw new RetryError(message, Math.min(Math.max(1, Number(response.headers.get("Retry-After")) || 2), 600));
  }
  const body = await response.json();
  const bytes = encoder.encode(text);
  if (!body.explain?.chunks) throw new Error("expected a chunked model (sftseq train custom --chunks 1024)");
  if (body.length !== bytes.length) throw new Error(`expected a model of bytes: it read ${body.length} tokens of ${bytes.length} bytes`);
  const chunks = body.explain.chunks.sort((a, b) => b.weight - a.weight).slice(0, count).map((chunk) => ({
    offset: decoder.decode(bytes.subarray(0, chunk.start)).length,
    weight: chunk.weight,
    pieces: pieces(bytes, chunk),
  }));
  return { label: body.label, probability: Math.max(...body.probabilities), seconds: (performance.now() - began) / 1000, chunks };
}
