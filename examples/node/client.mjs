// A client of `sftseq serve` with vscode-jsonrpc, which editors use for their servers.
//
//   make build
//   (cd examples/node && npm ci)
//   node examples/node/client.mjs ./sftseq serve --model runs/listops
//
// The arguments are the server's command, to which --framing lsp is added: it is
// what vscode-jsonrpc speaks.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  CancellationTokenSource, createMessageConnection, ProgressType, StreamMessageReader, StreamMessageWriter,
} from 'vscode-jsonrpc/node';

const [command, ...args] = process.argv.slice(2);
if (!command) {
  console.error('usage: client.mjs ./sftseq serve --model DIR');
  process.exit(2);
}
const server = spawn(command, [...args, '--framing', 'lsp'], { stdio: ['pipe', 'pipe', 'inherit'] });
const exited = once(server, 'exit');
const connection = createMessageConnection(
  new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin), console);
connection.onClose(() => connection.dispose()); // fails what waits for a server that is gone
connection.listen();

// Offsets in documents are to be those of JavaScript's strings: UTF-16 code units.
const { model, capabilities } = await connection.sendRequest('initialize', {
  processId: process.pid,
  clientInfo: { name: 'client.mjs' },
  capabilities: { general: { positionEncodings: ['utf-16'] } },
});
await connection.sendNotification('initialized', {});
console.log(`model: ${model.name}, labels ${model.labels.join(' ')}, positions ${capabilities.positionEncoding}`);
if (model.task !== 'classification') {
  console.error('this example wants a model that classifies');
  process.exit(1);
}

// Many sequences in one request: results as they come, and how far it is, in tokens.
const progress = new ProgressType();
connection.onProgress(progress, 'work', ({ kind, message }) => console.log('progress:', message ?? kind));
connection.onProgress(progress, 'results', ({ results }) => {
  for (const { index, result, error } of results) console.log('result:', index, result?.label ?? error.message);
});
await connection.sendRequest('sequence/classify', {
  sequences: [{ text: '[MIN 4 7 ]' }, { tokens: [] }, { text: '[SM 5 [MED 1 2 3 ] 8 ]' }],
  workDoneToken: 'work',
  partialResultToken: 'results',
});

// A long request, taken back. It is answered all the same.
const long = { tokens: Array(Math.min(4096, model.longestLength)).fill(1) };
const source = new CancellationTokenSource();
const pending = connection.sendRequest('sequence/classify', { sequences: Array(200).fill(long) }, source.token);
source.cancel();
await pending.then(
  ({ results }) => console.log('cancel: too late,', results.length, 'results'),
  ({ code, message }) => console.log('cancel:', code, message));

// A document is classified when it has been left alone for a while; so version 2,
// which is changed at once, is not.
const nextPush = () => new Promise((resolve) => connection.onNotification('sequence/publishClassification',
  ({ version, label }) => resolve(`version ${version}, label ${label}`)));
const uri = 'file:///expression';
let pushed = nextPush();
await connection.sendNotification('sequence/didOpen', { uri, version: 1, text: '[MAX 2 9 ]' });
console.log('pushed:', await pushed);
pushed = nextPush();
await connection.sendNotification('sequence/didChange', {
  uri, version: 2, changes: [{ range: { start: 5, end: 6 }, text: '[MIN 4 7 ]' }],
});
await connection.sendNotification('sequence/didChange', {
  uri, version: 3, changes: [{ range: { start: 16, end: 17 }, text: '3' }],
});
console.log('pushed:', await pushed);
await connection.sendNotification('sequence/didClose', { uri });

await connection.sendRequest('shutdown');
await connection.sendNotification('exit');
console.log('closed:', (await exited)[0]);
