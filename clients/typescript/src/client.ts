import { type ChildProcess, spawn } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CancellationTokenSource, createMessageConnection, type MessageConnection, NullLogger, ParameterStructures,
  StreamMessageReader, StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import { Document } from './document.js';
import { ConnectionLost, converted, ServerError } from './errors.js';
import type {
  Added, Classification, Embedding, Found, Graph, Labels, Model, Numbers, Pair, Pushed, Removed, Score, Sequence,
  Spans, Tags, Window,
} from './types.js';

/** How long to retry while the server is busy, in milliseconds (60,000 by default). */
export interface Patience {
  patience?: number;
}

/** A signal that cancels a request, which then fails with -32800, or succeeds if its result was ready. */
export interface Abortable {
  signal?: AbortSignal;
}

/** The part of a sequence to read. */
export interface Windowed {
  window?: Window;
}

/** The part of a sequence to read, and whether to explain the prediction. */
export interface Reading extends Windowed {
  explain?: boolean;
}

/** The maximum number of pending requests of a stream, and a signal that ends the stream: the loop throws the signal's reason. */
export interface Ahead {
  ahead?: number;
  signal?: AbortSignal;
}

type Items<T> = Iterable<T> | AsyncIterable<T>;
type Params = Record<string, unknown>;

/**
 * A session with a server. If the server is busy, the methods retry for `patience` milliseconds. An
 * invalid request throws ServerError. A lost connection throws ConnectionLost.
 *
 * Each method for one sequence has a variant …Each for an iterable, asynchronous or not, which yields
 * results in order. At most `ahead` requests (64 by default) are pending, and the next element is read
 * when a result is consumed (backpressure). A failed element yields its ServerError instead of
 * throwing it.
 */
export class Client {
  /** The model of the server. */
  readonly model!: Model;
  /** The methods of docs/protocol.md that the model supports. */
  readonly methods!: string[];
  /** The JSON-RPC connection, for messages that have no method in this class. */
  readonly connection: MessageConnection;
  #documents = new Map<string, Document>();
  #lost = false;
  #patience: number;

  private constructor(input: Readable, output: Writable, private readonly ended: Promise<number | undefined>, patience = 60_000) {
    this.#patience = patience;
    output.on('error', () => {}); // the failing write reports the error
    this.connection = createMessageConnection(new StreamMessageReader(input), new StreamMessageWriter(output), NullLogger);
    this.connection.onError(() => {});
    this.connection.onClose(() => {
      this.#lost = true;
      this.connection.dispose(); // rejects the pending requests
      for (const document of this.#documents.values()) document.lose();
    });
    for (const kind of ['Classification', 'Spans', 'Numbers', 'Labels']) {
      this.connection.onNotification(`sequence/publish${kind}`, (pushed: Pushed) => this.#documents.get(pushed.uri)?.publish(pushed));
    }
    this.connection.onNotification('window/logMessage', ({ message }: { message: string }) => console.error('sftseq:', message));
    this.connection.listen();
  }

  /** Starts `sftseq serve` for a model directory, with further flags. close() stops the server. */
  static async start(model: string, { program = 'sftseq', flags = [], patience }: { program?: string; flags?: readonly string[] } & Patience = {}): Promise<Client> {
    const server = spawn(program, ['serve', '--model', model, '--framing', 'lsp', ...flags], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(server, 'spawn');
    return new Client(server.stdout, server.stdin, exitOf(server), patience).#initialize();
  }

  /** Connects to a server at unix:PATH or tcp:HOST:PORT. The server must run with --framing lsp. */
  static async connect(address: string, { patience }: Patience = {}): Promise<Client> {
    const [, path, host, port] = /^(?:unix:(.+)|tcp:(.*):(\d+))$/.exec(address) ?? [];
    if (!path && !port) throw new TypeError(`address: expected unix:PATH or tcp:HOST:PORT, found ${JSON.stringify(address)}`);
    const socket: Socket = path ? connect(path) : connect(Number(port), host.replace(/^\[|\]$/g, '') || '127.0.0.1');
    await once(socket, 'connect');
    return new Client(socket, socket, new Promise((resolve) => socket.once('close', () => resolve(undefined))), patience).#initialize();
  }

  async #initialize(): Promise<Client> {
    try {
      const { model, capabilities } = await this.#send('initialize', {
        processId: process.pid,
        clientInfo: { name: 'sftseq-client' },
        capabilities: { general: { positionEncodings: ['utf-16'] } }, // the encoding of JavaScript strings
      }) as { model: Model; capabilities: { methods: string[] } };
      Object.assign(this, { model, methods: capabilities.methods });
      await this.notify('initialized', {});
      return this;
    } catch (error) {
      const status = error instanceof ConnectionLost ? await this.ended : undefined;
      this.connection.dispose();
      throw status === undefined ? error : new ConnectionLost(`the server exited with status ${status}`);
    }
  }

  /** Closes the session after all responses. Resolves to the exit status if start() launched the server, otherwise undefined. */
  async close(): Promise<number | undefined> {
    if (!this.#lost) {
      try {
        await this.#send('shutdown');
        await this.notify('exit');
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
      }
    }
    const status = await this.ended;
    this.connection.dispose();
    return status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Returns the class of a sequence, or of a window of it. */
  classify(sequence: Sequence, options: Reading & Abortable = {}): Promise<Classification> {
    return this.request('sequence/classify', reading(sequence, options), options);
  }

  /** Returns the numbers of a sequence, or of a window of it. */
  predict(sequence: Sequence, options: Windowed & Abortable = {}): Promise<Numbers> {
    return this.request('sequence/predict', reading(sequence, options), options);
  }

  /** Returns the predicted labels of a sequence, or of a window of it. */
  labels(sequence: Sequence, options: Windowed & Abortable = {}): Promise<Labels> {
    return this.request('sequence/labels', reading(sequence, options), options);
  }

  /** Returns the spans of a sequence of tokens, or the tag of each point of a cloud or node of a graph. */
  tag(sequence: Graph, options?: Abortable): Promise<Tags>;
  tag(sequence: Exclude<Sequence, Graph>, options?: Abortable): Promise<Spans>;
  tag(sequence: Sequence, options?: Abortable): Promise<Spans | Tags>;
  tag(sequence: Sequence, options: Abortable = {}): Promise<Spans | Tags> {
    return this.request('sequence/tag', fields(sequence), options);
  }

  /** Returns the embedding of a sequence. */
  embed(sequence: Sequence, options: Abortable = {}): Promise<Embedding> {
    return this.request('sequence/embed', fields(sequence), options);
  }

  /** Returns the class of a pair. */
  score(a: Sequence, b: Sequence, options: { explain?: boolean } & Abortable = {}): Promise<Score> {
    return this.request('retrieval/score', paired([a, b], options.explain), options);
  }

  /** Yields the class of each sequence. */
  classifyEach(sequences: Items<Sequence>, options: Reading & Ahead = {}): AsyncGenerator<Classification | ServerError, void> {
    return this.#each('sequence/classify', sequences, (s) => reading(s, options), options);
  }

  /** Yields the numbers of each sequence. */
  predictEach(sequences: Items<Sequence>, options: Windowed & Ahead = {}): AsyncGenerator<Numbers | ServerError, void> {
    return this.#each('sequence/predict', sequences, (s) => reading(s, options), options);
  }

  /** Yields the predicted labels of each sequence. */
  labelsEach(sequences: Items<Sequence>, options: Windowed & Ahead = {}): AsyncGenerator<Labels | ServerError, void> {
    return this.#each('sequence/labels', sequences, (s) => reading(s, options), options);
  }

  /** Yields the spans or the tags of each sequence. */
  tagEach(sequences: Items<Graph>, options?: Ahead): AsyncGenerator<Tags | ServerError, void>;
  tagEach(sequences: Items<Exclude<Sequence, Graph>>, options?: Ahead): AsyncGenerator<Spans | ServerError, void>;
  tagEach(sequences: Items<Sequence>, options: Ahead = {}): AsyncGenerator<Spans | Tags | ServerError, void> {
    return this.#each('sequence/tag', sequences, fields, options);
  }

  /** Yields the embedding of each sequence. */
  embedEach(sequences: Items<Sequence>, options: Ahead = {}): AsyncGenerator<Embedding | ServerError, void> {
    return this.#each('sequence/embed', sequences, fields, options);
  }

  /** Yields the class of each pair. */
  scoreEach(pairs: Items<Pair>, options: { explain?: boolean } & Ahead = {}): AsyncGenerator<Score | ServerError, void> {
    return this.#each('retrieval/score', pairs, (pair) => paired(pair, options.explain), options);
  }

  /** Adds a sequence to the index, or replaces the item with the same id. */
  add(id: string | number, sequence: Sequence, options: Abortable = {}): Promise<Added> {
    return this.request('retrieval/add', { id, ...fields(sequence) }, options);
  }

  /** Adds pairs of an id and a sequence to the index. Ids must be distinct, because the order may change. */
  addEach(items: Items<readonly [string | number, Sequence]>, options: Ahead = {}): AsyncGenerator<Added | ServerError, void> {
    return this.#each('retrieval/add', items, ([id, sequence]) => ({ id, ...fields(sequence) }), options);
  }

  /** Removes items from the index. */
  remove(...ids: (string | number)[]): Promise<Removed> {
    return this.request('retrieval/remove', { ids });
  }

  /**
   * Returns the k (10 by default) items with the largest (1 - lexical) * cosine + lexical * (score of shared words). A
   * pair model reranks the first `rescore` items.
   */
  search(
    sequence: Sequence,
    { k, rescore, lexical, signal }: { k?: number; rescore?: number; lexical?: number } & Abortable = {},
  ): Promise<Found> {
    return this.request('retrieval/search', { k, rescore, lexical, ...fields(sequence) }, { signal });
  }

  /** Yields the k nearest items of each sequence. */
  searchEach(sequences: Items<Sequence>, { k, ...options }: { k?: number } & Ahead = {}): AsyncGenerator<Found | ServerError, void> {
    return this.#each('retrieval/search', sequences, (s) => ({ k, ...fields(s) }), options);
  }

  /** Opens a document. */
  async open(uri: string, text: string, window?: Window): Promise<Document> {
    if (this.#documents.has(uri)) throw new Error(`${uri}: the document is already open`);
    const document = new Document({
      notify: (method, params) => this.notify(method, params),
      forget: (closed) => this.#documents.delete(closed.uri),
    }, uri, text);
    this.#documents.set(uri, document); // before the server can publish a result
    try {
      await this.notify('sequence/didOpen', { uri, version: document.version, text, window });
    } catch (error) {
      this.#documents.delete(uri);
      throw error;
    }
    return document;
  }

  /** Returns the current model, which the server may have reloaded. */
  info(): Promise<Model> {
    return this.request('model/info');
  }

  /** Returns statistics of the server. */
  stats(): Promise<Record<string, unknown>> {
    return this.request('server/stats');
  }

  /** Sends a request of any method of docs/protocol.md, and retries while the server is busy. */
  async request<T>(method: string, params?: object, { signal }: Abortable = {}): Promise<T> {
    const until = performance.now() + this.#patience;
    for (;;) {
      try {
        return await this.#send(method, params, signal) as T;
      } catch (error) {
        const after = error instanceof ServerError ? error.retryAfter : undefined;
        if (after === undefined || signal?.aborted || performance.now() + after > until) throw error;
        await sleep(after);
      }
    }
  }

  /** Sends a notification, which has no response. */
  async notify(method: string, params?: object): Promise<void> {
    if (this.#lost) throw new ConnectionLost();
    try {
      await this.connection.sendNotification(method, ParameterStructures.byName, ...(params ? [params] : []));
    } catch (error) {
      throw converted(error);
    }
  }

  async #send(method: string, params?: object, signal?: AbortSignal): Promise<unknown> {
    if (this.#lost) throw new ConnectionLost();
    const source = new CancellationTokenSource();
    const cancel = () => source.cancel();
    signal?.addEventListener('abort', cancel);
    if (signal?.aborted) cancel();
    try {
      return await (params ? this.connection.sendRequest(method, params, source.token) : this.connection.sendRequest(method, source.token));
    } catch (error) {
      throw converted(error);
    } finally {
      signal?.removeEventListener('abort', cancel);
      source.dispose();
    }
  }

  #each<T, R>(method: string, items: Items<T>, params: (item: T) => Params, { ahead = 64, signal }: Ahead): AsyncGenerator<R | ServerError, void> {
    if (!(ahead >= 1)) throw new RangeError(`ahead: expected at least 1, found ${ahead}`);
    return this.#stream(method, items, params, ahead, signal);
  }

  async *#stream<T, R>(method: string, items: Items<T>, params: (item: T) => Params, ahead: number, signal?: AbortSignal): AsyncGenerator<R | ServerError, void> {
    const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
    const abort = new AbortController();
    setMaxListeners(0, abort.signal); // each request listens
    const cancel = () => abort.abort(signal?.reason);
    signal?.addEventListener('abort', cancel);
    const pending: Promise<R | ServerError>[] = [];
    let next: Promise<IteratorResult<T>> | undefined;
    let more = true;
    try {
      for (;;) {
        signal?.throwIfAborted();
        if (more && !next && pending.length < ahead) next = handled((async () => source.next())());
        if (next && (pending.length === 0 || await first(next, pending[0]))) {
          const { done, value } = await unlessAborted(next, signal);
          next = undefined;
          if (done) more = false;
          else pending.push(handled(this.request<R>(method, params(value), abort).catch(asValue)));
        } else if (pending.length > 0) {
          const result = await pending.shift()!; // an abort cancels this request
          signal?.throwIfAborted();
          yield result;
        } else {
          return;
        }
      }
    } finally { // also if the caller leaves the loop early
      signal?.removeEventListener('abort', cancel);
      abort.abort();
      if (more) handled((async () => source.return?.())()); // not awaited: the source may never return
    }
  }
}

/** Resolves to whether a settles before b, or true if both have settled. */
function first(a: Promise<unknown>, b: Promise<unknown>): Promise<boolean> {
  return Promise.race([a.then(() => true), b.then(() => false)]);
}

/** Waits for a promise. Throws the reason of the signal if the signal aborts first. */
async function unlessAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return promise;
  let abort!: () => void;
  const aborted = new Promise<never>((_, reject) => { abort = () => reject(signal.reason); });
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Marks the rejection of a promise as handled. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function asValue(error: unknown): ServerError {
  if (error instanceof ServerError) return error;
  throw error;
}

async function exitOf(server: ChildProcess): Promise<number | undefined> {
  const [status] = await once(server, 'exit');
  return status ?? undefined;
}

/** Returns the request fields of a sequence. */
function fields(sequence: Sequence, suffix = ''): Params {
  if (typeof sequence === 'string') return { [`text${suffix}`]: sequence };
  if ('uri' in sequence) return { [`uri${suffix}`]: sequence.uri, [`version${suffix}`]: sequence.version };
  if (sequence instanceof Uint8Array) return { [`bytes${suffix}`]: Buffer.from(sequence).toString('base64') };
  if ('features' in sequence) return { features: sequence.features, edges: sequence.edges };
  return { [`tokens${suffix}`]: Array.from(sequence) };
}

function reading(sequence: Sequence, { window, explain }: Reading): Params {
  return { ...fields(sequence), window, explain };
}

function paired([a, b]: Pair, explain?: boolean): Params {
  return { ...fields(a, '_a'), ...fields(b, '_b'), explain };
}
