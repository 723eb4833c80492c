// Samples the bytes of a file as sftseq files does (docs/files.md), and finds the bytes that influence the prediction
// most.

const [head, middle, tail] = [1024, 512, 512];

/** Reads the sample of a File: {bytes, ranges}, where ranges are the offsets of the sample's parts in the file, each as
 * [start, exclusive end]. */
export async function sample(file) {
  const centre = Math.floor((file.size - middle) / 2);
  const ranges =
    file.size <= head + middle + tail
      ? [[0, file.size]]
      : [[0, head], [centre, centre + middle], [file.size - tail, file.size]];
  const bytes = await new Blob(ranges.map(([start, end]) => file.slice(start, end))).arrayBuffer();
  return { bytes: new Uint8Array(bytes), ranges };
}

/**
 * Classifies the sample once for each block of 64 bytes, without this block. Returns at most count blocks, those whose
 * removal lowers the probability of the label most: [{start, end, text, change}, …], where change is the difference in
 * the logarithm of the probability.
 */
export async function evidence(classify, { bytes, ranges }, { label, probability }, count = 3) {
  const found = [];
  let begin = 0; // index in the sample of the first byte of the part
  for (const [start, end] of ranges) {
    for (let at = start; at < end; at += 64) {
      const [from, to] = [begin + at - start, begin + Math.min(at + 64, end) - start];
      const rest = new Uint8Array(bytes.length - (to - from));
      if (rest.length === 0) continue;
      rest.set(bytes.subarray(0, from));
      rest.set(bytes.subarray(to), from);
      const without = (await classify(rest)).find((row) => row.label === label).probability;
      const text = Array.from(bytes.subarray(from, to), (b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : "·")).join("");
      found.push({ start: at, end: at + to - from, text, change: Math.log(without / probability) });
    }
    begin += end - start;
  }
  return found.filter((block) => block.change < 0).sort((a, b) => a.change - b.change).slice(0, count);
}
