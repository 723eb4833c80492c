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
import { ConnectionLost, convertError, ServerError } from './errors.js';
import type {
  AddResult, Classification, Embedding, Graph, Labels, Model, Numbers, Pair, PublishedResult, RemoveResult, Score,
  SearchResult, Sequence, Spans, Tags, Window,
} from './types.js';

/** Options for retries while the server is busy. */
export interface RetryOptions {
  /** The maximum total time of retries, in milliseconds (60,000 by default). */
  patience?: number;
}

/** A signal that cancels a request, which then throws the signal's reason, or succeeds if its result was ready. */
export interface Abortable {
  signal?: AbortSignal;
}

/** The part of a sequence to read. */
export interface WindowOptions {
  window?: Window;
}

/** The part of a sequence to read, and whether the result contains an explanation. */
export interface PredictOptions extends WindowOptions {
  explain?: boolean;
}

/** Options of a stream of requests. */
export interface StreamOptions {
  /** The maximum number of pending requests (64 by default). */
  ahead?: number;
  /** A signal that ends the stream: the loop throws the signal's reason. */
  signal?: AbortSignal;
}

type Items<T> = Iterable<T> | AsyncIterable<T>;
type Params = Record<string, unknown>;

/**
 * A session with a server. If the server is busy, the methods retry for at most `patience`
 * milliseconds. An invalid request throws ServerError. A lost connection throws ConnectionLost.
 *
 * Each method for one sequence has a variant …Each, which takes an iterable, asynchronous or not, and
 * yields results in order. At most `ahead` requests (64 by default) are pending, and the next element
 * is read when a result is consumed (backpressure). If the request of an element fails, the stream
 * yields the ServerError instead of throwing it.
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
  #output: Writable;
  #refusal?: ServerError; // why the server ends the session

  private constructor(input: Readable, output: Writable, private readonly ended: Promise<number | undefined>, patience = 60_000) {
    this.#patience = patience;
    this.#output = output;
    output.on('error', () => {}); // the failing write reports the error
    const reader = new StreamMessageReader(input), listen = reader.listen.bind(reader);
    reader.listen = (receive) => listen((message) => {
      const { id, error } = message as { id?: unknown; error?: { code: number; message: string; data?: unknown } };
      if (id === null && error) this.#refusal = new ServerError(error.code, error.message, error.data); // vscode-jsonrpc ignores it
      receive(message);
    });
    this.connection = createMessageConnection(reader, new StreamMessageWriter(output), NullLogger);
    this.connection.onError(() => {});
    this.connection.onClose(() => {
      this.#lost = true;
      this.connection.dispose(); // rejects the pending requests
      for (const document of this.#documents.values()) document.disconnect();
    });
    for (const kind of ['Classification', 'Spans', 'Numbers', 'Labels']) {
      this.connection.onNotification(`sequence/publish${kind}`, (result: PublishedResult) => this.#documents.get(result.uri)?.publish(result));
    }
    this.connection.onNotification('window/logMessage', ({ message }: { message: string }) => console.error('sftseq:', message));
    this.connection.listen();
  }

  /** Starts `sftseq serve` for a model directory, with further flags. close() stops the server. */
  static async start(model: string, { program = 'sftseq', flags = [], patience }: { program?: string; flags?: readonly string[] } & RetryOptions = {}): Promise<Client> {
    const server = spawn(program, ['serve', '--model', model, '--framing', 'lsp', ...flags], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(server, 'spawn');
    return new Client(server.stdout, server.stdin, exitStatus(server), patience).#initialize();
  }

  /** Connects to a server at unix:PATH or tcp:HOST:PORT. The server must run with --framing lsp. */
  static async connect(address: string, { patience }: RetryOptions = {}): Promise<Client> {
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
      this.#output.destroy(); // ends the session, which would keep Node.js running
      if (this.#refusal) throw this.#refusal;
      if (status !== undefined) throw new ConnectionLost(`the server exited with status ${status}`);
      throw error instanceof ConnectionLost
        ? new ConnectionLost('the connection ended before the response to initialize: the server must run with --framing lsp') : error;
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
  classify(sequence: Sequence, options: PredictOptions & Abortable = {}): Promise<Classification> {
    return this.request('sequence/classify', predictParams(sequence, options), options);
  }

  /** Returns the numbers predicted for a sequence, or for a window of it. */
  predict(sequence: Sequence, options: WindowOptions & Abortable = {}): Promise<Numbers> {
    return this.request('sequence/predict', predictParams(sequence, options), options);
  }

  /** Returns the predicted labels of a sequence, or of a window of it. */
  labels(sequence: Sequence, options: WindowOptions & Abortable = {}): Promise<Labels> {
    return this.request('sequence/labels', predictParams(sequence, options), options);
  }

  /** Returns the spans of a sequence of tokens, or the tag of each point of a cloud or node of a graph. */
  tag(sequence: Graph, options?: Abortable): Promise<Tags>;
  tag(sequence: Exclude<Sequence, Graph>, options?: Abortable): Promise<Spans>;
  tag(sequence: Sequence, options?: Abortable): Promise<Spans | Tags>;
  tag(sequence: Sequence, options: Abortable = {}): Promise<Spans | Tags> {
    return this.request('sequence/tag', sequenceParams(sequence), options);
  }

  /** Returns the embedding of a sequence. */
  embed(sequence: Sequence, options: Abortable = {}): Promise<Embedding> {
    return this.request('sequence/embed', sequenceParams(sequence), options);
  }

  /** Returns the class of a pair. */
  score(a: Sequence, b: Sequence, options: { explain?: boolean } & Abortable = {}): Promise<Score> {
    return this.request('retrieval/score', pairParams([a, b], options.explain), options);
  }

  /** Yields the class of each sequence. */
  classifyEach(sequences: Items<Sequence>, options: PredictOptions & StreamOptions = {}): AsyncGenerator<Classification | ServerError, void> {
    return this.#each('sequence/classify', sequences, (s) => predictParams(s, options), options);
  }

  /** Yields the numbers predicted for each sequence. */
  predictEach(sequences: Items<Sequence>, options: WindowOptions & StreamOptions = {}): AsyncGenerator<Numbers | ServerError, void> {
    return this.#each('sequence/predict', sequences, (s) => predictParams(s, options), options);
  }

  /** Yields the predicted labels of each sequence. */
  labelsEach(sequences: Items<Sequence>, options: WindowOptions & StreamOptions = {}): AsyncGenerator<Labels | ServerError, void> {
    return this.#each('sequence/labels', sequences, (s) => predictParams(s, options), options);
  }

  /** Yields the spans or the tags of each sequence. */
  tagEach(sequences: Items<Graph>, options?: StreamOptions): AsyncGenerator<Tags | ServerError, void>;
  tagEach(sequences: Items<Exclude<Sequence, Graph>>, options?: StreamOptions): AsyncGenerator<Spans | ServerError, void>;
  tagEach(sequences: Items<Sequence>, options: StreamOptions = {}): AsyncGenerator<Spans | Tags | ServerError, void> {
    return this.#each('sequence/tag', sequences, sequenceParams, options);
  }

  /** Yields the embedding of each sequence. */
  embedEach(sequences: Items<Sequence>, options: StreamOptions = {}): AsyncGenerator<Embedding | ServerError, void> {
    return this.#each('sequence/embed', sequences, sequenceParams, options);
  }

  /** Yields the class of each pair. */
  scoreEach(pairs: Items<Pair>, options: { explain?: boolean } & StreamOptions = {}): AsyncGenerator<Score | ServerError, void> {
    return this.#each('retrieval/score', pairs, (pair) => pairParams(pair, options.explain), options);
  }

  /** Adds a sequence to the index, or replaces the item with the same id. */
  add(id: string | number, sequence: Sequence, options: Abortable = {}): Promise<AddResult> {
    return this.request('retrieval/add', { id, ...sequenceParams(sequence) }, options);
  }

  /** Adds pairs of an id and a sequence to the index. Ids must be distinct, because the requests run concurrently. */
  addEach(items: Items<readonly [string | number, Sequence]>, options: StreamOptions = {}): AsyncGenerator<AddResult | ServerError, void> {
    return this.#each('retrieval/add', items, ([id, sequence]) => ({ id, ...sequenceParams(sequence) }), options);
  }

  /** Removes items from the index. */
  remove(...ids: (string | number)[]): Promise<RemoveResult> {
    return this.request('retrieval/remove', { ids });
  }

  /**
   * Returns the k (10 by default) items with the largest (1 - lexical) * cosine + lexical * (score of shared words). A
   * pair model reranks the first `rescore` items.
   */
  search(
    sequence: Sequence,
    { k, rescore, lexical, signal }: { k?: number; rescore?: number; lexical?: number } & Abortable = {},
  ): Promise<SearchResult> {
    return this.request('retrieval/search', { k, rescore, lexical, ...sequenceParams(sequence) }, { signal });
  }

  /** Yields the k nearest items of each sequence. */
  searchEach(sequences: Items<Sequence>, { k, ...options }: { k?: number } & StreamOptions = {}): AsyncGenerator<SearchResult | ServerError, void> {
    return this.#each('retrieval/search', sequences, (s) => ({ k, ...sequenceParams(s) }), options);
  }

  /** Opens a document. The server publishes its class, spans, numbers or labels; a window does not apply to spans. */
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

  /**
   * Sends a request of any method of docs/protocol.md, and retries while the server is busy, for at most `patience`
   * milliseconds. After an abort it throws the signal's reason (by default an AbortError), unless the result was ready.
   */
  async request<T>(method: string, params?: object, { signal }: Abortable = {}): Promise<T> {
    const deadline = performance.now() + this.#patience;
    for (;;) {
      signal?.throwIfAborted();
      try {
        return await this.#send(method, params, signal) as T;
      } catch (error) {
        if (error instanceof ServerError) signal?.throwIfAborted();
        const after = error instanceof ServerError ? error.retryAfter : undefined;
        if (after === undefined || performance.now() + after > deadline) throw error;
        await sleep(after, undefined, { signal }).catch(() => signal?.throwIfAborted());
      }
    }
  }

  /** Sends a notification, which has no response. */
  async notify(method: string, params?: object): Promise<void> {
    if (this.#lost) throw new ConnectionLost();
    try {
      await this.connection.sendNotification(method, ParameterStructures.byName, ...(params ? [params] : []));
    } catch (error) {
      throw convertError(error);
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
      throw convertError(error);
    } finally {
      signal?.removeEventListener('abort', cancel);
      source.dispose();
    }
  }

  #each<T, R>(method: string, items: Items<T>, params: (item: T) => Params, { ahead = 64, signal }: StreamOptions): AsyncGenerator<R | ServerError, void> {
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
        if (more && !next && pending.length < ahead) next = markHandled((async () => source.next())());
        if (next && (pending.length === 0 || await settlesFirst(next, pending[0]))) {
          const { done, value } = await unlessAborted(next, signal);
          next = undefined;
          if (done) more = false;
          else pending.push(markHandled(this.request<R>(method, params(value), abort).catch(asValue)));
        } else if (pending.length > 0) {
          const result = await pending.shift()!; // an abort cancels this request
          signal?.throwIfAborted();
          yield result;
        } else {
          return;
        }
      }
    } finally { // even if the caller leaves the loop early
      signal?.removeEventListener('abort', cancel);
      abort.abort();
      if (more) markHandled((async () => source.return?.())()); // not awaited: the source may never return
    }
  }
}

/** Resolves to true if a resolves before b, or if both have resolved. Rejects if the first to settle rejects. */
function settlesFirst(a: Promise<unknown>, b: Promise<unknown>): Promise<boolean> {
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

/** Marks the rejection of a promise as handled, so that Node.js does not report it before the promise is awaited. */
function markHandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** Returns a ServerError as a value, and throws any other error. */
function asValue(error: unknown): ServerError {
  if (error instanceof ServerError) return error;
  throw error;
}

/** Resolves to the exit status of a process, or to undefined if a signal killed the process. */
async function exitStatus(server: ChildProcess): Promise<number | undefined> {
  const [status] = await once(server, 'exit');
  return status ?? undefined;
}

/** Returns the request fields for a sequence. The suffix names the side of a pair: _a or _b. */
function sequenceParams(sequence: Sequence, suffix = ''): Params {
  if (typeof sequence === 'string') return { [`text${suffix}`]: sequence };
  if ('uri' in sequence) return { [`uri${suffix}`]: sequence.uri, [`version${suffix}`]: sequence.version };
  if (sequence instanceof Uint8Array) return { [`bytes${suffix}`]: Buffer.from(sequence).toString('base64') };
  if ('features' in sequence) return { features: sequence.features, edges: sequence.edges };
  return { [`tokens${suffix}`]: Array.from(sequence) };
}

/** Returns the request fields for a sequence and the options of a prediction. */
function predictParams(sequence: Sequence, { window, explain }: PredictOptions): Params {
  return { ...sequenceParams(sequence), window, explain };
}

/** Returns the request fields for a pair. */
function pairParams([a, b]: Pair, explain?: boolean): Params {
  return { ...sequenceParams(a, '_a'), ...sequenceParams(b, '_b'), explain };
}
