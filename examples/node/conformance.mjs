// Tests `sftseq serve` with npm's vscode-jsonrpc as the client. cmd/sftseq/clients_test.go runs it. To
// run it by hand:
//
//   (cd examples/node && npm ci)
//   node examples/node/conformance.mjs lsp ./sftseq sft/testdata/golden/pre
//
// The arguments are the framing (lsp or lines), the program, and a model of ListOps.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import {
  AbstractMessageReader, AbstractMessageWriter, CancellationTokenSource, createMessageConnection, Disposable,
  ProgressType, StreamMessageReader, StreamMessageWriter,
} from 'vscode-jsonrpc/node';

const [framing, program, model] = process.argv.slice(2);

// vscode-jsonrpc implements only LSP's framing. LineReader and LineWriter use one message per line.
class LineReader extends AbstractMessageReader {
  constructor(stream) {
    super();
    this.lines = createInterface({ input: stream, crlfDelay: Infinity });
    this.lines.on('close', () => this.fireClose());
  }
  listen(callback) {
    this.lines.on('line', (line) => callback(JSON.parse(line)));
    return Disposable.create(() => this.lines.close());
  }
}

class LineWriter extends AbstractMessageWriter {
  constructor(stream) {
    super();
    this.stream = stream;
  }
  async write(message) {
    this.stream.write(`${JSON.stringify(message)}\n`);
  }
  end() {
    this.stream.end();
  }
}

const [Reader, Writer] = { lsp: [StreamMessageReader, StreamMessageWriter], lines: [LineReader, LineWriter] }[framing];

// predict returns the predictions of `sftseq predict`, without ids. The server's results must equal them bit for bit.
function predict(sequences) {
  const input = sequences.map((s) => JSON.stringify(s)).join('\n');
  const { status, stdout } = spawnSync(program, ['predict', '--model', model], { input, encoding: 'utf8' });
  assert.equal(status, 0);
  return stdout.trimEnd().split('\n').map((line) => {
    const { id, ...prediction } = JSON.parse(line);
    return prediction;
  });
}

const servers = new Set();
after(() => servers.forEach((s) => s.kill())); // also after a failed test

class Session {
  constructor(...flags) {
    this.server = spawn(program, ['serve', '--model', model, '--framing', framing, '--log', 'error', ...flags], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    servers.add(this.server);
    this.exited = once(this.server, 'exit').then(([status]) => status);
    this.connection = createMessageConnection(new Reader(this.server.stdout), new Writer(this.server.stdin), console);
    this.pushes = [];
    this.onPush = () => {};
    this.connection.onNotification('sequence/publishClassification', (p) => {
      this.pushes.push(p);
      this.onPush(p);
    });
    this.logged = new Promise((resolve) => this.connection.onNotification('window/logMessage', resolve));
    this.connection.listen();
  }
  request(...args) {
    return this.connection.sendRequest(...args);
  }
  notify(...args) {
    return this.connection.sendNotification(...args);
  }
  initialize() {
    return this.request('initialize', {
      processId: process.pid,
      clientInfo: { name: 'conformance.mjs' },
      locale: 'en',
      capabilities: { general: { positionEncodings: ['utf-16'] } }, // the encoding of JavaScript strings
    });
  }
  // pushOf resolves to the pushed prediction of a document version, whether it has arrived already or not.
  pushOf(version) {
    return new Promise((resolve) => {
      this.onPush = (p) => p.version === version && resolve(p);
      this.pushes.forEach(this.onPush);
    });
  }
  // progress resolves to the first progress value for a token.
  progress(token) {
    return new Promise((resolve) => this.connection.onProgress(new ProgressType(), token, resolve));
  }
  async shutdown() {
    assert.equal(await this.request('shutdown'), null);
    await this.notify('exit');
    return this.exited;
  }
}

async function open(...flags) {
  const s = new Session(...flags);
  await s.initialize();
  await s.notify('initialized', {});
  return s;
}

// expectError waits for a response, which must be an error with the given code, and returns the error.
async function expectError(code, response) {
  try {
    assert.fail(`expected ${code}, got ${JSON.stringify(await response).slice(0, 300)}`);
  } catch (e) {
    assert.equal(e.code, code, e.message);
    return e;
  }
}

// slowRequest is a small message with 2,049 windows to compute, so that later messages arrive during
// its computation.
const slowRequest = { tokens: Array(4096).fill(1), window: { policy: 'sliding', length: 2048, stride: 1 } };

test('a session lives from initialize to exit', async () => {
  const s = new Session();
  await expectError(-32002, s.request('sequence/classify', { text: '1' }));
  await expectError(-32002, s.request('no/method'));
  await expectError(-32002, s.request('shutdown'));
  const { serverInfo, capabilities, model } = await s.initialize();
  assert.equal(serverInfo.name, 'sftseq');
  assert.equal(capabilities.positionEncoding, 'utf-16');
  assert.equal(capabilities.documents, true);
  assert.ok(capabilities.methods.includes('sequence/classify'));
  assert.equal(model.task, 'classification');
  assert.deepEqual(model, await s.request('model/info'));
  await expectError(-32600, s.initialize());
  await s.notify('initialized', {});
  await s.notify('no/method', {}); // must be ignored
  assert.equal(await s.request('shutdown'), null);
  await expectError(-32600, s.request('sequence/classify', { text: '1' }));
  await expectError(-32600, s.request('shutdown'));
  await s.notify('exit');
  assert.equal(await s.exited, 0);
});

test('exit without shutdown has status 1', async () => {
  const s = await open();
  await s.notify('exit');
  assert.equal(await s.exited, 1);
});

test('exit without initialize has status 1', async () => {
  const s = new Session();
  await s.notify('exit');
  assert.equal(await s.exited, 1);
});

test('the server completes pending requests after the end of the input', async () => {
  const s = await open();
  const begun = s.progress('work');
  const sequences = Array(20).fill({ tokens: slowRequest.tokens });
  const response = s.request('sequence/classify', { sequences, workDoneToken: 'work' });
  await begun;
  s.connection.end();
  assert.equal((await response).results.length, 20);
  assert.equal(await s.exited, 0);
});

test('classify returns the results of predict', async () => {
  const s = await open();
  const sequences = Array.from({ length: 60 }, (_, i) => ({ tokens: Array.from({ length: 1 + i * 7 }, (_, j) => 1 + ((i + j * j) % 15)) }));
  const want = predict(sequences);
  const alone = await Promise.all(sequences.map((q) => s.request('sequence/classify', q)));
  assert.deepEqual(alone, want);
  const { results } = await s.request('sequence/classify', { sequences });
  assert.deepEqual(results, want.map((result, index) => ({ index, result })));
  const [text] = predict([{ text: '[MAX 2 9 ]' }]);
  assert.deepEqual(await s.request('sequence/classify', { text: '[MAX 2 9 ]' }), text);
  assert.deepEqual(await s.request('sequence/classify', { bytes: btoa('[MAX 2 9 ]') }), text);
  assert.equal(await s.shutdown(), 0);
});

test('an error names the invalid field', async () => {
  const s = await open();
  const unknown = await expectError(-32601, s.request('sequence/guess', { text: '1' }));
  assert.match(unknown.message, /sequence\/guess/);
  assert.equal(unknown.data.found, 'sequence/guess');
  await expectError(-32601, s.request('retrieval/score', { text_a: '1', text_b: '2' })); // the model reads no pairs
  assert.equal((await expectError(-32602, s.request('sequence/classify', { tokens: [99] }))).data.field, 'tokens');
  assert.equal((await expectError(-32602, s.request('sequence/classify', { uri: 'file:///closed' }))).data.field, 'uri');
  const { results } = await s.request('sequence/classify', { sequences: [{ tokens: [] }, { tokens: [7] }] });
  assert.equal(results[0].error.code, -32602);
  assert.equal(results[0].error.data.field, 'sequences[0].tokens');
  assert.deepEqual(results[1].result, predict([{ tokens: [7] }])[0]);
  assert.equal(await s.shutdown(), 0);
});

test('progress and partial results arrive in order', async () => {
  const s = await open();
  const sequences = Array.from({ length: 100 }, (_, i) => ({ tokens: Array(40 * (i + 1)).fill(1 + (i % 15)) }));
  const total = sequences.reduce((n, q) => n + q.tokens.length, 0);
  const type = new ProgressType();
  const work = [], parts = [];
  s.connection.onProgress(type, 'work', (v) => work.push(v));
  s.connection.onProgress(type, 7, (v) => parts.push(...v.results)); // a token may be a number
  const response = await s.request('sequence/classify', { sequences, workDoneToken: 'work', partialResultToken: 7 });
  assert.deepEqual(response, { results: [] });
  const [begin, ...reports] = work, end = reports.pop();
  assert.deepEqual([begin.kind, begin.done, begin.cancellable], ['begin', 0, true]);
  assert.ok(reports.length >= 1);
  let done = 0;
  for (const r of reports) {
    assert.equal(r.kind, 'report');
    assert.ok(r.done > done && r.total === total, `${r.done} of ${r.total} after ${done}`);
    done = r.done;
  }
  assert.equal(done, total);
  assert.equal(end.kind, 'end');
  assert.deepEqual(parts, predict(sequences).map((result, index) => ({ index, result })));
  assert.equal(await s.shutdown(), 0);
});

test('a cancelled request fails with -32800, and its slot serves other requests', async () => {
  const s = await open();
  const tokens = { tokens: [12, 3, 10, 15] };
  const [want] = predict([tokens]);
  const early = new CancellationTokenSource();
  const first = s.request('sequence/classify', slowRequest, early.token);
  early.cancel(); // probably before the server has read the request
  await expectError(-32800, first);

  const late = new CancellationTokenSource();
  const begun = s.progress('work');
  const second = s.request('sequence/classify', { ...slowRequest, workDoneToken: 'work' }, late.token);
  await begun; // the request is being computed
  late.cancel();
  await expectError(-32800, second);
  assert.deepEqual(await s.request('sequence/classify', tokens), want);

  // Of 40 concurrent requests, exactly the cancelled ones fail.
  const sources = Array.from({ length: 40 }, () => new CancellationTokenSource());
  const responses = sources.map((c, i) => s.request('sequence/classify', i % 2 ? tokens : slowRequest, c.token));
  sources.forEach((c, i) => i % 2 || c.cancel());
  for (const [i, { value, reason }] of (await Promise.allSettled(responses)).entries()) {
    i % 2 ? assert.deepEqual(value, want) : assert.equal(reason?.code, -32800);
  }
  const { errors } = await s.request('server/stats');
  assert.equal(errors['-32800'], 2 + 20);
  assert.equal(await s.shutdown(), 0);
});

test('a document is classified after changes, with ascending versions', async () => {
  const s = await open('--debounce', '20ms');
  const uri = 'file:///expression';
  let text = '[MAX 2 9 ]', version = 1;
  await s.notify('sequence/didOpen', { uri, version, text });
  const { label, scores, logits, length } = await s.pushOf(1);
  assert.deepEqual({ label, logits, probabilities: scores, length }, predict([{ text }])[0]);

  // Random edits, in bursts. Characters outside ListOps are tokens, too. 𝒳 has two UTF-16 code units, which
  // an edit must not separate.
  let seed = 1;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const words = ['[MIN 4 7 ]', ' 3 ', '', ' 𝒳 ', '[SM 5 ', ' ]'];
  const characterEnd = (at) => (/[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at + 1 : at);
  for (let burst = 0; burst < 20; burst++) {
    for (let edit = 0; edit < 10; edit++) {
      const start = characterEnd(random(text.length + 1)), end = characterEnd(Math.min(text.length, start + random(8)));
      const word = words[random(words.length)];
      text = text.slice(0, start) + word + text.slice(end);
      await s.notify('sequence/didChange', { uri, version: ++version, changes: [{ range: { start, end }, text: word }] });
    }
    await new Promise((resolve) => setTimeout(resolve, random(40)));
  }
  const at = text.length; // two changes of one version; the second applies to the result of the first
  const changes = [{ range: { start: at, end: at }, text: ' 8' }, { range: { start: at + 2, end: at + 2 }, text: ' ]' }];
  text += ' 8 ]';
  await s.notify('sequence/didChange', { uri, version: ++version, changes });
  const last = await s.pushOf(version);
  const [want] = predict([{ text }]);
  assert.deepEqual([last.label, last.logits, last.length], [want.label, want.logits, want.length]);
  assert.deepEqual(await s.request('sequence/classify', { uri }), { ...want, uri, version });
  const versions = s.pushes.map((p) => p.version);
  assert.ok(versions.every((v, i) => i === 0 || v > versions[i - 1]), `${versions}`);
  assert.ok(versions.length > 2, `${versions}`);

  // A request fails if its document changes during the computation.
  await s.notify('sequence/didChange', { uri, version: ++version, changes: [{ text: '1 '.repeat(4096) }] });
  const stale = s.request('sequence/classify', { uri, window: slowRequest.window });
  await s.notify('sequence/didChange', { uri, version: ++version, changes: [{ text: '2' }] });
  await expectError(-32801, stale);
  assert.equal((await s.pushOf(version)).label, predict([{ text: '2' }])[0].label);

  // A change that cannot be applied is logged, and a whole text repairs the document.
  await s.notify('sequence/didChange', { uri, version: ++version, changes: [{ range: { start: 5, end: 9 }, text: '' }] });
  assert.match((await s.logged).message, /range within 1 UTF-16 code units/);
  await expectError(-32803, s.request('sequence/classify', { uri }));
  await s.notify('sequence/didChange', { uri, version: ++version, changes: [{ text: '3' }] });
  assert.equal((await s.pushOf(version)).label, predict([{ text: '3' }])[0].label);

  const count = s.pushes.length;
  await s.notify('sequence/didChange', { uri, version: ++version, changes: [{ text: '4' }] });
  await s.notify('sequence/didClose', { uri });
  await expectError(-32602, s.request('sequence/classify', { uri }));
  await new Promise((resolve) => setTimeout(resolve, 100)); // five times the debounce
  assert.equal(s.pushes.length, count);
  assert.equal(await s.shutdown(), 0);
});

test('the prediction of a replaced version is not pushed', async () => {
  const s = await open('--debounce', '1ms');
  const until = async (condition) => {
    while (!condition(await s.request('server/stats'))) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const uri = 'file:///long', window = { policy: 'sliding', length: 512, stride: 1 };
  await s.notify('sequence/didOpen', { uri, version: 1, text: '1 '.repeat(2048), window });
  await until(({ runningBatches }) => runningBatches > 0);
  await s.notify('sequence/didChange', { uri, version: 2, changes: [{ text: '2' }] });
  await s.pushOf(2);
  await until(({ waiting, runningBatches }) => waiting + runningBatches === 0);
  await s.request('model/info'); // earlier notifications precede the response
  assert.deepEqual(s.pushes.map((p) => p.version), [2]);
  assert.equal(await s.shutdown(), 0);
});
