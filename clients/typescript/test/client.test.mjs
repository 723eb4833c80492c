// Runs the client against the program. SFTSEQ_PROGRAM is the path of the program and SFTSEQ_GOLDEN a folder of small
// models. By default the tests build the program from the clone that contains this file, and use the clone's models.
// npm test builds the client first.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, ConnectionLost, ServerError } from 'sftseq-client';

const packageDir = resolve(import.meta.dirname, '..'), clone = resolve(packageDir, '../..');
const folder = mkdtempSync(join(tmpdir(), 'sftseq'));
const program = resolve(process.env.SFTSEQ_PROGRAM ?? buildProgram());
const golden = resolve(process.env.SFTSEQ_GOLDEN ?? join(clone, 'sft/testdata/golden'));
const openClients = new Set();
after(async () => {
  for (const client of openClients) await client.close();
  rmSync(folder, { recursive: true });
});

// buildProgram builds the program from the clone and returns its path.
function buildProgram() {
  const path = join(folder, 'sftseq');
  const { status, stderr } = spawnSync('go', ['build', '-o', path, './cmd/sftseq'], { cwd: clone, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return path;
}

async function start(model, { flags = [], ...options } = {}) {
  const client = await Client.start(join(golden, model), { program, flags: ['--log', 'error', '--debounce', '50ms', ...flags], ...options });
  openClients.add(client);
  return client;
}

// A session that several tests share.
const shared = await start('pre');

// programOutput returns the JSON objects that a command of the program prints for the sequences, without ids.
function programOutput(command, model, ...sequences) {
  const input = sequences.map((s) => JSON.stringify(s)).join('\n');
  const { status, stdout } = spawnSync(program, [command, '--model', join(golden, model)], { input, encoding: 'utf8' });
  assert.equal(status, 0);
  return stdout.trimEnd().split('\n').map((line) => {
    const { id, ...result } = JSON.parse(line);
    return result;
  });
}

// startServer runs a server, and returns its process and its addresses.
async function startServer(model, framing = 'lsp', ...flags) {
  const unix = `unix:${join(mkdtempSync(join(folder, 's')), 's')}`;
  const server = spawn(program, ['serve', '--model', join(golden, model), '--framing', framing, '--listen', unix, '--listen', 'tcp:127.0.0.1:0', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  const lines = createInterface({ input: server.stderr });
  const tcp = await new Promise((found) => lines.on('line', (line) => {
    const address = /address=(tcp:\S+)/.exec(line);
    if (address) found(address[1]);
  }));
  return { server, unix, tcp };
}

async function collect(results) {
  const collected = [];
  for await (const result of results) collected.push(result);
  return collected;
}

const longSequence = Array(4096).fill(1);

test('classify and embed return the output of the commands predict and embed', async () => {
  const text = '[MAX 2 9 ]', tokens = [12, 3, 10, 15, 7];
  const want = programOutput('predict', 'pre', { text }, { tokens });
  assert.deepEqual(await shared.classify(text), want[0]);
  assert.deepEqual(await shared.classify(new TextEncoder().encode(text)), want[0]);
  assert.deepEqual(await shared.classify(tokens), want[1]);
  assert.deepEqual(await shared.classify(Int32Array.from(tokens)), want[1]);
  assert.deepEqual(await shared.embed(text), programOutput('embed', 'pre', { text })[0]);
  assert.equal((await shared.classify(text, { explain: true })).explain.layers.length, shared.model.layers);
  const tail = await shared.classify(tokens, { window: { policy: 'tail', length: 4 } });
  assert.deepEqual([tail.window.start, tail.length], [1, 5]);
});

test('predict, labels and tag return the output of the command predict', async () => {
  const tokens = [1, 2, 3, 4];
  for (const [model, method] of [['regression', 'predict'], ['multilabel', 'labels'], ['tagging', 'tag']]) {
    const client = await start(model);
    const want = programOutput('predict', model, { tokens });
    assert.deepEqual(await client[method](tokens), want[0]);
    assert.deepEqual(await collect(client[`${method}Each`]([tokens])), want);
    if (model !== 'tagging') {
      const published = await (await client.open('d', '[MAX 2 9 ]')).wait(60_000);
      const { numbers, labels, probabilities } = await client[method]('[MAX 2 9 ]');
      assert.deepEqual([published.numbers, published.labels, published.probabilities], [numbers, labels, probabilities]);
    } else {
      const document = await client.open('note', 'Zoë 😀 met Ann');
      await document.wait(60_000);
      await document.replace(4, 6, 'Bø'); // an emoji is two code units
      assert.equal(document.text, 'Zoë Bø met Ann');
      assert.deepEqual((await document.wait(60_000)).spans, (await client.tag('Zoë Bø met Ann')).spans);
    }
    assert.equal(await client.close(), 0);
  }
});

test('classify and embed of clouds and graphs return the output of the commands', async () => {
  const cloud = { features: [[0.5, 0, 0, 1, 0.1, 0.2, 0.3], [0.25, 0, 1, 0, -0.1, 0.4, 0]] };
  const graph = { features: [[1.5, 0], [0.5, -1]], edges: [[0, 1, 1, 0.5]] };
  for (const [model, sequence] of [['clouds', cloud], ['graphs', graph]]) {
    const client = await start(model);
    assert.deepEqual(await client.classify(sequence), programOutput('predict', model, sequence)[0]);
    assert.deepEqual(await client.embed(sequence), programOutput('embed', model, sequence)[0]);
    assert.equal(await client.close(), 0);
  }
});

const noTagModels = !existsSync(join(golden, 'parts')) && 'go test -run TestTypeScriptClient makes the models';
test('tag of clouds and graphs returns the output of the command predict', { skip: noTagModels }, async () => {
  const cloud = { features: [[0.5, 0, 0, 1, 0.1, 0.2, 0.3], [0.25, 0, 1, 0, -0.1, 0.4, 0]] };
  const graph = { features: [[1.5, 0], [0.5, -1], [1, 1]], edges: [[0, 1, 1, 0.5]] };
  for (const [model, sequence, count] of [['parts', cloud, 2], ['nodes', graph, 3]]) {
    const client = await start(model);
    const want = programOutput('predict', model, sequence);
    assert.deepEqual(await client.tag(sequence), want[0]);
    assert.deepEqual(await collect(client.tagEach([sequence])), want);
    assert.deepEqual([want[0].tags.length, want[0].scores.length, want[0].length], [count, count, count]);
    assert.equal(await client.close(), 0);
  }
});

test('predict and labels return the result of each sliding window', async () => {
  const tokens = [1, 2, 3, 4, 5];
  const window = { policy: 'sliding', length: 4, stride: 1 };
  for (const [model, method, field] of [['regression', 'predict', 'numbers'], ['multilabel', 'labels', 'labels']]) {
    const client = await start(model);
    const whole = await client[method](tokens, { window });
    const each = [await client[method](tokens.slice(0, 4)), await client[method](tokens.slice(1))];
    assert.deepEqual(whole.windows.map((w) => w[field]), each.map((result) => result[field]));
    assert.deepEqual(await collect(client[`${method}Each`]([tokens], { window })), [whole]);
    assert.equal(await client.close(), 0);
  }
});

test('score returns the output of the command predict', async () => {
  const client = await start('retrieval');
  const want = programOutput('predict', 'retrieval', { text_a: 'one', tokens_b: [5, 6] });
  assert.deepEqual(await client.score('one', [5, 6]), want[0]);
  const [good, bad] = await collect(client.scoreEach([['one', [5, 6]], ['', 'x']]));
  assert.deepEqual(good, want[0]);
  assert.equal(bad.code, -32602);
});

test('add, search and remove use the index', async () => {
  const client = await start('pre', { flags: ['--index', join(folder, 'i.arrow')] });
  assert.equal((await client.add('a', [1, 2, 3])).id, 'a');
  const added = await collect(client.addEach([0, 1, 2, 3].map((n) => [n, [4 + n, 9]])));
  assert.deepEqual(added.map(({ id }) => id), ['0', '1', '2', '3']);
  assert.equal((await client.search([5, 9], { k: 1 })).items[0].id, '1');
  const found = await collect(client.searchEach([[1, 2, 3], [7, 9]], { k: 1 }));
  assert.deepEqual(found.map(({ items }) => items[0].id), ['a', '3']);
  assert.deepEqual(await client.remove('a', 'b'), { removed: 1, unknown: ['b'] });
  assert.equal((await client.stats()).index.items, 4);
  assert.deepEqual(await client.info(), client.model);
});

test('a stream yields results and errors in order', async () => {
  const sequences = Array.from({ length: 300 }, (_, n) => (n % 7 ? Array(1 + n % 50).fill(1 + n % 16) : []));
  const want = programOutput('predict', 'pre', ...sequences.filter((s) => s.length).map((tokens) => ({ tokens })));
  async function* slowly() {
    for (const [n, s] of sequences.entries()) {
      if (n % 40 === 0) await sleep(1);
      yield s;
    }
  }
  for (const source of [sequences, slowly()]) {
    const got = await collect(shared.classifyEach(source, { ahead: 16 }));
    assert.deepEqual(got.filter((a) => !(a instanceof ServerError)), want);
    got.forEach((a, n) => assert.equal(a instanceof ServerError, n % 7 === 0));
  }
});

test('a stream reads at most `ahead` items', async () => {
  let taken = 0;
  function* endless() {
    for (;;) yield [1 + taken++ % 16];
  }
  const stream = shared.embedEach(endless(), { ahead: 8 });
  assert.equal(taken, 0);
  await stream.next();
  await sleep(100);
  assert.equal(taken, 8);
  for (let n = 0; n < 20; n++) await stream.next();
  assert.equal(taken, 28);
  await stream.return();
  assert.throws(() => shared.embedEach([], { ahead: 0 }), /ahead: expected at least 1, found 0/);
});

test('a result arrives while the source waits for it', async () => {
  const results = [];
  async function* dialogue() {
    yield [1];
    while (results.length === 0) await sleep(5);
    yield [2];
  }
  for await (const result of shared.classifyEach(dialogue())) results.push(result.length);
  assert.deepEqual(results, [1, 1]);
});

test('the loop throws the error of a failing source', async () => {
  function* broken() {
    yield [1];
    throw new Error('no more');
  }
  await assert.rejects(collect(shared.classifyEach(broken())), /no more/);
});

test('leaving the loop and an aborted signal cancel pending requests', async () => {
  const before = (await shared.stats()).cancelled;
  for await (const _ of shared.classifyEach(Array(64).fill(longSequence))) break;
  while ((await shared.stats()).cancelled === before) await sleep(20);
  const abort = new AbortController();
  const pending = shared.classify(longSequence, { signal: abort.signal });
  abort.abort();
  await pending.catch(({ name }) => assert.equal(name, 'AbortError')); // unless the result arrived first
  const requests = async () => (await shared.stats()).responses['sequence/classify'];
  const sent = await requests();
  await assert.rejects(shared.classify([1], { signal: abort.signal }), { name: 'AbortError' }); // sends nothing
  assert.equal(await requests(), sent);
  await assert.rejects(shared.request('sequence/classify', { sequences: Array(64).fill({ tokens: longSequence }) }, { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' });
});

test('a signal ends a stream', async () => {
  const reason = new Error('enough');
  const abort = new AbortController();
  const before = (await shared.stats()).cancelled;
  let got = 0;
  await assert.rejects(async () => {
    for await (const _ of shared.classifyEach(Array(64).fill(longSequence), { signal: abort.signal })) {
      if (++got === 2) abort.abort(reason);
    }
  }, (error) => error === reason);
  assert.equal(got, 2);
  while ((await shared.stats()).cancelled === before) await sleep(20);
  // An aborted signal prevents the first read. A signal that aborts while the source waits ends the loop.
  const unread = { next: () => assert.fail('the source is read'), [Symbol.iterator]() { return this; } };
  await assert.rejects(collect(shared.embedEach(unread, { signal: abort.signal })), (error) => error === reason);
  const silent = { next: () => new Promise(() => {}), [Symbol.asyncIterator]() { return this; } };
  await assert.rejects(collect(shared.embedEach(silent, { signal: AbortSignal.timeout(50) })), { name: 'TimeoutError' });
});

test('requests are retried while the server is busy', async () => {
  const client = await start('pre', { flags: ['--max-inflight', '2'] });
  const got = await collect(client.classifyEach(Array.from({ length: 100 }, (_, n) => [1 + n % 16, 3]), { ahead: 50 }));
  assert.equal(got.filter((a) => 'label' in a).length, 100);
  assert.ok((await client.stats()).errors['-32000'] > 0);
  const hasty = await start('pre', { flags: ['--max-inflight', '1'], patience: 0 });
  const first = hasty.request('sequence/classify', { sequences: Array(50).fill({ tokens: longSequence }) });
  await assert.rejects(hasty.classify([1]), ({ retryAfter }) => retryAfter > 0);
  await first;
});

test('edits of a document are published', async () => {
  const document = await shared.open('d', '');
  await assert.rejects(document.wait(60_000), /empty/);
  document.set('[MAX 2 9 ]');
  await document.replace(5, 6, '[MIN 4 7 ]');
  const { version, label } = await document.wait(60_000);
  assert.deepEqual([version, label], [3, (await shared.classify('[MAX [MIN 4 7 ] 9 ]')).label]);
  assert.equal((await shared.embed(document)).version, 3);
  await assert.rejects(document.replace(5, 50, ''), /start <= end <= 19, found 5 and 50/);
  await assert.rejects(shared.open('d', 'x'), /d: the document is already open/);
  await document.close();
  await assert.rejects(shared.classify(document), ServerError);
  const again = await shared.open('d', '[MIN 1 2 ]', { policy: 'head' });
  assert.equal((await again.wait(60_000)).version, 1);
  await again.set('[MIN 2 2 ]');
  await assert.rejects(again.wait(1), /no result for version 2 in 1 ms/);
  await again.close();
});

test('invalid requests and addresses are rejected', async () => {
  for (const sequence of [[99], [], '', '\ud83d']) {
    await assert.rejects(shared.classify(sequence), (e) => e instanceof ServerError && e.code === -32602 && e.retryAfter === undefined);
  }
  await assert.rejects(shared.score('1', '2'), { code: -32601 });
  assert.ok(!shared.methods.includes('retrieval/score'));
  await assert.rejects(Client.start('model', { program: '/no/such/program' }), { code: 'ENOENT' });
  await assert.rejects(Client.start('no/model', { program }), (e) => e instanceof ConnectionLost && /exited with status 1/.test(e.message));
  await assert.rejects(Client.connect('unix:/no/such/socket'), { code: 'ENOENT' });
  const lineServer = await startServer('pre', 'lines');
  await assert.rejects(Client.connect(lineServer.unix), (e) => e instanceof ConnectionLost && /must run with --framing lsp/.test(e.message));
  lineServer.server.kill();
  for (const address of ['', 'unix:', 'tcp:host', 'tcp:host:port', 'http://host']) {
    await assert.rejects(Client.connect(address), /expected unix:PATH or tcp:HOST:PORT/);
  }
});

test('a refused session throws the error of the server', async () => {
  const { server, unix } = await startServer('pre', 'lsp', '--max-clients', '1');
  const client = await Client.connect(unix);
  await assert.rejects(Client.connect(unix), (e) => e instanceof ServerError && e.retryAfter > 0 && /--max-clients/.test(e.message));
  await client.close();
  server.kill();
});

test('clients connect by Unix and TCP sockets, and report that the server died', async () => {
  const { server, unix, tcp } = await startServer('pre');
  const [a, b] = [await Client.connect(unix), await Client.connect(tcp)];
  assert.deepEqual(await a.classify([1]), await b.classify([1]));
  assert.equal(await a.close(), undefined);
  const document = await b.open('d', '[MAX 2 9 ]');
  await document.wait(60_000);
  const pending = b.request('sequence/classify', { sequences: Array(50).fill({ tokens: longSequence }) });
  const failed = assert.rejects(pending, ConnectionLost);
  server.kill('SIGKILL');
  await failed;
  await assert.rejects(b.classify([1]), ConnectionLost);
  await assert.rejects(document.set('x'), ConnectionLost);
  await assert.rejects(document.wait(), ConnectionLost);
  await b.close();
});

test('the examples of README.md run', async () => {
  const blocks = [...readFileSync(join(packageDir, 'README.md'), 'utf8').matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
  assert.ok(blocks.length >= 5);
  for (const name of ['runs', 'bin']) mkdirSync(join(folder, name));
  symlinkSync(join(golden, 'pre'), join(folder, 'runs/listops'));
  symlinkSync(program, join(folder, 'bin/sftseq'));
  const options = { cwd: folder, encoding: 'utf8', env: { ...process.env, PATH: join(folder, 'bin') + delimiter + process.env.PATH } };
  const server = spawn('sftseq', ['serve', '--model', 'runs/listops', '--framing', 'lsp', '--listen', 'unix:sftseq.sock', '--index', 'items.arrow'], { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  await once(createInterface({ input: server.stderr }), 'line');
  for (const [n, code] of blocks.entries()) {
    const file = join(packageDir, 'dist', `example${n}.mjs`); // in the package, so that the example can import sftseq-client
    writeFileSync(file, code);
    const { status, stdout, stderr } = spawnSync(process.execPath, [file], options);
    rmSync(file);
    assert.ok(status === 0 && stdout, `${code}\n${stdout}\n${stderr}`);
  }
  server.kill();
});
