import { ConnectionLost, ServerError } from './errors.js';
import type { OpenDocument, Pushed } from './types.js';

/** The part of a client that a document uses. */
export interface Editing {
  notify(method: string, params: object): Promise<void>;
  forget(document: Document): boolean;
}

/**
 * An open document, which the server classifies or tags after a pause in editing. Offsets count
 * UTF-16 code units, as in JavaScript strings. Every method of the client accepts a document as a sequence; the result is
 * for the version at the time of the request.
 */
export class Document implements OpenDocument {
  #version = 1;
  #text: string;
  #pushed?: Pushed;
  #lost?: ConnectionLost;
  #waiting = new Set<() => void>();

  constructor(private readonly client: Editing, readonly uri: string, text: string) {
    this.#text = text;
  }

  get text(): string {
    return this.#text;
  }

  get version(): number {
    return this.#version;
  }

  /** Replaces the text from start to end, exclusive. */
  async replace(start: number, end: number, text: string): Promise<void> {
    if (!(Number.isInteger(start) && Number.isInteger(end) && 0 <= start && start <= end && end <= this.#text.length)) {
      throw new RangeError(`expected 0 <= start <= end <= ${this.#text.length}, found ${start} and ${end}`);
    }
    const whole = this.#text.slice(0, start) + text + this.#text.slice(end);
    return this.#change({ range: { start, end }, text }, whole);
  }

  /** Replaces the whole text. */
  async set(text: string): Promise<void> {
    return this.#change({ text }, text);
  }

  #change(change: object, text: string): Promise<void> {
    this.#text = text; // before the message: changes that are not awaited keep their order
    this.#version++;
    return this.client.notify('sequence/didChange', { uri: this.uri, version: this.#version, changes: [change] });
  }

  /**
   * Waits until the server publishes the result for the last version. Throws ServerError for an
   * invalid document, and an Error after timeout milliseconds. Pair models and models without labels
   * publish nothing.
   */
  async wait(timeout?: number): Promise<Pushed> {
    const signal = timeout === undefined ? undefined : AbortSignal.timeout(timeout);
    while (this.#pushed?.version !== this.#version) {
      if (this.#lost) throw this.#lost;
      if (signal?.aborted) throw new Error(`${this.uri}: no result for version ${this.#version} in ${timeout} ms`);
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiting.delete(wake);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        this.#waiting.add(wake);
        signal?.addEventListener('abort', wake);
      });
    }
    const pushed = this.#pushed!;
    if (pushed.error) throw new ServerError(pushed.error.code, pushed.error.message, pushed.error.data);
    return pushed;
  }

  /** Closes the document. The server frees its text. */
  async close(): Promise<void> {
    if (this.client.forget(this)) await this.client.notify('sequence/didClose', { uri: this.uri });
  }

  /** Stores a published result. */
  publish(pushed: Pushed): void {
    this.#pushed = pushed;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Ends all waits, because the connection is lost. */
  lose(): void {
    this.#lost = new ConnectionLost();
    for (const wake of [...this.#waiting]) wake();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
