// A client of `sftseq serve` with vscode-jsonrpc, the JSON-RPC library of Visual Studio Code.
//
//   make build
//   (cd examples/node && npm ci)
//   node examples/node/client.mjs ./sftseq serve --model runs/listops
//
// The arguments are the server's command. The client adds --framing lsp, the framing of
// vscode-jsonrpc.
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
connection.onClose(() => connection.dispose()); // rejects the pending requests
connection.listen();

// Select the offsets of JavaScript strings for documents: UTF-16 code units.
const { model, capabilities } = await connection.sendRequest('initialize', {
  processId: process.pid,
  clientInfo: { name: 'client.mjs' },
  capabilities: { general: { positionEncodings: ['utf-16'] } },
});
await connection.sendNotification('initialized', {});
console.log(`model: ${model.name}, labels ${model.labels.join(' ')}, positions ${capabilities.positionEncoding}`);
if (model.task !== 'classification') {
  console.error('this example needs a classifier');
  process.exit(1);
}

// A list of sequences in one request, with partial results, and progress in tokens.
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

// A long request, which is cancelled. It still gets a response.
const long = { tokens: Array(Math.min(4096, model.longestLength)).fill(1) };
const source = new CancellationTokenSource();
const pending = connection.sendRequest('sequence/classify', { sequences: Array(200).fill(long) }, source.token);
source.cancel();
await pending.then(
  ({ results }) => console.log('cancel: too late,', results.length, 'results'),
  ({ code, message }) => console.log('cancel:', code, message));

// The server classifies a document after a pause in editing. Version 2 is replaced
// immediately, so it is not classified.
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
