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

/** How long a busy server is asked again, in milliseconds. */
export interface Patience {
  patience?: number;
}

/** A signal that takes a request back: it then ends by a ServerError of -32800, or by a result that was there. */
export interface Abortable {
  signal?: AbortSignal;
}

/** What to read of a sequence. */
export interface Windowed {
  window?: Window;
}

/** What to read of a sequence, and whether to tell what of it the model has read. */
export interface Reading extends Windowed {
  explain?: boolean;
}

/** How many requests of a stream may be under way at a time. */
export interface Ahead {
  ahead?: number;
}

type Items<T> = Iterable<T> | AsyncIterable<T>;
type Params = Record<string, unknown>;

/**
 * A session with a server. A busy server says when to come back; the methods do so for the
 * patience of the client. What is wrong with a request is a ServerError; ConnectionLost says that the
 * server is gone.
 *
 * Each method of one sequence has a second one, named …Each, for many: it takes them from an iterable,
 * asynchronous or not, and yields an answer to each, in their order. At most `ahead` are under way, 64
 * without it, and no more are taken until an answer is fetched: neither side stores what the other
 * cannot keep up with. What is wrong with one of them is a ServerError in its place, which is yielded
 * and not thrown.
 */
export class Client {
  /** What the server answers with. */
  readonly model!: Model;
  /** What the model can answer, by the names of docs/protocol.md. */
  readonly methods!: string[];
  /** The connection, for all that has no method here. */
  readonly connection: MessageConnection;
  #documents = new Map<string, Document>();
  #lost = false;
  #patience: number;

  private constructor(input: Readable, output: Writable, private readonly ended: Promise<number | undefined>, patience = 60_000) {
    this.#patience = patience;
    output.on('error', () => {}); // told by what is written
    this.connection = createMessageConnection(new StreamMessageReader(input), new StreamMessageWriter(output), NullLogger);
    this.connection.onError(() => {});
    this.connection.onClose(() => {
      this.#lost = true;
      this.connection.dispose(); // fails what waits
      for (const document of this.#documents.values()) document.lose();
    });
    for (const said of ['Classification', 'Spans', 'Numbers', 'Labels']) {
      this.connection.onNotification(`sequence/publish${said}`, (pushed: Pushed) => this.#documents.get(pushed.uri)?.tell(pushed));
    }
    this.connection.onNotification('window/logMessage', ({ message }: { message: string }) => console.error('sftseq:', message));
    this.connection.listen();
  }

  /** Runs `sftseq serve` for a model's directory, with more flags, as long as the client lives. */
  static async start(model: string, { program = 'sftseq', flags = [], patience }: { program?: string; flags?: readonly string[] } & Patience = {}): Promise<Client> {
    const server = spawn(program, ['serve', '--model', model, '--framing', 'lsp', ...flags], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(server, 'spawn');
    return new Client(server.stdout, server.stdin, exitOf(server), patience).#initialize();
  }

  /** Joins a server that listens at unix:PATH or tcp:HOST:PORT, with --framing lsp. */
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
        capabilities: { general: { positionEncodings: ['utf-16'] } }, // what JavaScript's strings are
      }) as { model: Model; capabilities: { methods: string[] } };
      Object.assign(this, { model, methods: capabilities.methods });
      await this.notify('initialized', {});
      return this;
    } catch (error) {
      const status = error instanceof ConnectionLost ? await this.ended : undefined;
      this.connection.dispose();
      throw status === undefined ? error : new ConnectionLost(`the server has ended with status ${status}`);
    }
  }

  /** Takes leave when all is answered. Resolves to the exit status of a server that start has run. */
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

  /** The class of a sequence, or of what a window says of it. */
  classify(sequence: Sequence, options: Reading & Abortable = {}): Promise<Classification> {
    return this.request('sequence/classify', reading(sequence, options), options);
  }

  /** The numbers of a sequence, or of what a window says of it. */
  predict(sequence: Sequence, options: Windowed & Abortable = {}): Promise<Numbers> {
    return this.request('sequence/predict', reading(sequence, options), options);
  }

  /** The labels that hold of a sequence, or of what a window says of it. */
  labels(sequence: Sequence, options: Windowed & Abortable = {}): Promise<Labels> {
    return this.request('sequence/labels', reading(sequence, options), options);
  }

  /** The spans of a sequence of tokens; of a cloud or a graph the tag of each point or node. */
  tag(sequence: Graph, options?: Abortable): Promise<Tags>;
  tag(sequence: Exclude<Sequence, Graph>, options?: Abortable): Promise<Spans>;
  tag(sequence: Sequence, options?: Abortable): Promise<Spans | Tags>;
  tag(sequence: Sequence, options: Abortable = {}): Promise<Spans | Tags> {
    return this.request('sequence/tag', fields(sequence), options);
  }

  /** The vector of a sequence. */
  embed(sequence: Sequence, options: Abortable = {}): Promise<Embedding> {
    return this.request('sequence/embed', fields(sequence), options);
  }

  /** The class of a pair. */
  score(a: Sequence, b: Sequence, options: { explain?: boolean } & Abortable = {}): Promise<Score> {
    return this.request('retrieval/score', paired([a, b], options.explain), options);
  }

  /** The class of each sequence. */
  classifyEach(sequences: Items<Sequence>, options: Reading & Ahead = {}): AsyncGenerator<Classification | ServerError, void> {
    return this.#each('sequence/classify', sequences, (s) => reading(s, options), options);
  }

  /** The numbers of each sequence. */
  predictEach(sequences: Items<Sequence>, options: Windowed & Ahead = {}): AsyncGenerator<Numbers | ServerError, void> {
    return this.#each('sequence/predict', sequences, (s) => reading(s, options), options);
  }

  /** The labels of each sequence that hold. */
  labelsEach(sequences: Items<Sequence>, options: Windowed & Ahead = {}): AsyncGenerator<Labels | ServerError, void> {
    return this.#each('sequence/labels', sequences, (s) => reading(s, options), options);
  }

  /** The spans of each sequence, or its tags. */
  tagEach(sequences: Items<Graph>, options?: Ahead): AsyncGenerator<Tags | ServerError, void>;
  tagEach(sequences: Items<Exclude<Sequence, Graph>>, options?: Ahead): AsyncGenerator<Spans | ServerError, void>;
  tagEach(sequences: Items<Sequence>, options: Ahead = {}): AsyncGenerator<Spans | Tags | ServerError, void> {
    return this.#each('sequence/tag', sequences, fields, options);
  }

  /** The vector of each sequence. */
  embedEach(sequences: Items<Sequence>, options: Ahead = {}): AsyncGenerator<Embedding | ServerError, void> {
    return this.#each('sequence/embed', sequences, fields, options);
  }

  /** The class of each pair. */
  scoreEach(pairs: Items<Pair>, options: { explain?: boolean } & Ahead = {}): AsyncGenerator<Score | ServerError, void> {
    return this.#each('retrieval/score', pairs, (pair) => paired(pair, options.explain), options);
  }

  /** Puts a sequence into the index of a server that has one, in the place of one with the same id. */
  add(id: string | number, sequence: Sequence, options: Abortable = {}): Promise<Added> {
    return this.request('retrieval/add', { id, ...fields(sequence) }, options);
  }

  /** Puts each sequence, behind its id, into the index. Ids must differ: the items go in as they are done. */
  addEach(items: Items<readonly [string | number, Sequence]>, options: Ahead = {}): AsyncGenerator<Added | ServerError, void> {
    return this.#each('retrieval/add', items, ([id, sequence]) => ({ id, ...fields(sequence) }), options);
  }

  /** Takes items out of the index. */
  remove(...ids: (string | number)[]): Promise<Removed> {
    return this.request('retrieval/remove', { ids });
  }

  /** The k items of the largest cosine, 10 without it. A model of pairs scores the first of them again. */
  search(sequence: Sequence, { k, rescore, signal }: { k?: number; rescore?: number } & Abortable = {}): Promise<Found> {
    return this.request('retrieval/search', { k, rescore, ...fields(sequence) }, { signal });
  }

  /** The k items nearest to each sequence. */
  searchEach(sequences: Items<Sequence>, { k, ahead }: { k?: number } & Ahead = {}): AsyncGenerator<Found | ServerError, void> {
    return this.#each('retrieval/search', sequences, (s) => ({ k, ...fields(s) }), { ahead });
  }

  /** Opens a document. */
  async open(uri: string, text: string, window?: Window): Promise<Document> {
    if (this.#documents.has(uri)) throw new Error(`${uri}: it is open`);
    const document = new Document({
      notify: (method, params) => this.notify(method, params),
      forget: (closed) => this.#documents.delete(closed.uri),
    }, uri, text);
    this.#documents.set(uri, document); // before the server can say anything of it
    try {
      await this.notify('sequence/didOpen', { uri, version: document.version, text, window });
    } catch (error) {
      this.#documents.delete(uri);
      throw error;
    }
    return document;
  }

  /** What the server answers with now: a model may have been read again. */
  info(): Promise<Model> {
    return this.request('model/info');
  }

  /** What the server does. */
  stats(): Promise<Record<string, unknown>> {
    return this.request('server/stats');
  }

  /** Asks by any method of docs/protocol.md, again while the server is busy. */
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

  /** Tells the server, which does not answer. */
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

  #each<T, R>(method: string, items: Items<T>, params: (item: T) => Params, { ahead = 64 }: Ahead): AsyncGenerator<R | ServerError, void> {
    if (!(ahead >= 1)) throw new RangeError(`ahead: expected at least 1, found ${ahead}`);
    return this.#stream(method, items, params, ahead);
  }

  async *#stream<T, R>(method: string, items: Items<T>, params: (item: T) => Params, ahead: number): AsyncGenerator<R | ServerError, void> {
    const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
    const abort = new AbortController();
    setMaxListeners(0, abort.signal); // each request listens
    const underWay: Promise<R | ServerError>[] = [];
    let next: Promise<IteratorResult<T>> | undefined;
    let more = true;
    try {
      for (;;) {
        if (more && !next && underWay.length < ahead) next = handled((async () => source.next())());
        if (next && (underWay.length === 0 || await first(next, underWay[0]))) {
          const { done, value } = await next;
          next = undefined;
          if (done) more = false;
          else underWay.push(handled(this.request<R>(method, params(value), abort).catch(asValue)));
        } else if (underWay.length > 0) {
          yield await underWay.shift()!;
        } else {
          return;
        }
      }
    } finally { // whoever stops in between does not want the rest
      abort.abort();
      if (more) handled((async () => source.return?.())()); // it may wait for what does not come
    }
  }
}

/** Whether a settles before b; if both have, it does. */
function first(a: Promise<unknown>, b: Promise<unknown>): Promise<boolean> {
  return Promise.race([a.then(() => true), b.then(() => false)]);
}

/** A promise whose error is looked at later, or not at all. */
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

/** The fields of a sequence. */
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
