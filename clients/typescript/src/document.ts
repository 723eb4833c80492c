import { ConnectionLost, ServerError } from './errors.js';
import type { OpenDocument, PublishedResult } from './types.js';

/** The part of a client that a document uses. */
export interface DocumentClient {
  notify(method: string, params: object): Promise<void>;
  forget(document: Document): boolean;
}

/**
 * An open document, for which the server publishes results after a pause in editing. Offsets count
 * UTF-16 code units, as in JavaScript strings. Every method of the client that takes a sequence
 * accepts a document. The result describes the document's version at the time of the request.
 */
export class Document implements OpenDocument {
  #version = 1;
  #text: string;
  #published?: PublishedResult;
  #lost?: ConnectionLost;
  #waiting = new Set<() => void>();

  constructor(private readonly client: DocumentClient, readonly uri: string, text: string) {
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
    const newText = this.#text.slice(0, start) + text + this.#text.slice(end);
    return this.#change({ range: { start, end }, text }, newText);
  }

  /** Replaces the whole text. */
  async set(text: string): Promise<void> {
    return this.#change({ text }, text);
  }

  #change(change: object, text: string): Promise<void> {
    // Set before the notification, because the caller may change the text again without waiting for this change.
    this.#text = text;
    this.#version++;
    return this.client.notify('sequence/didChange', { uri: this.uri, version: this.#version, changes: [change] });
  }

  /**
   * Waits until the server publishes the result for the current version. Throws ServerError for an
   * invalid document, ConnectionLost if the connection is lost, and an Error after timeout
   * milliseconds. Pair models and fill-mask models publish nothing.
   */
  async wait(timeout?: number): Promise<PublishedResult> {
    const signal = timeout === undefined ? undefined : AbortSignal.timeout(timeout);
    while (this.#published?.version !== this.#version) {
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
    const result = this.#published!;
    if (result.error) throw new ServerError(result.error.code, result.error.message, result.error.data);
    return result;
  }

  /** Closes the document. The server frees its text. */
  async close(): Promise<void> {
    if (this.client.forget(this)) await this.client.notify('sequence/didClose', { uri: this.uri });
  }

  /** Stores a published result and wakes the waiting calls. */
  publish(result: PublishedResult): void {
    this.#published = result;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Makes the waiting calls throw ConnectionLost. */
  disconnect(): void {
    this.#lost = new ConnectionLost();
    for (const wake of [...this.#waiting]) wake();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
