import { ConnectionLost, ServerError } from './errors.js';
import type { OpenDocument, Pushed } from './types.js';

/** What a document asks of its client. */
export interface Editing {
  notify(method: string, params: object): Promise<void>;
  forget(document: Document): boolean;
}

/**
 * An open document, which is classified or tagged when it has been left alone for a while. Places
 * are those of JavaScript's strings. It is a sequence for every method of the client; an answer is
 * for the version that it had when it was asked.
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

  /** Puts text in the place of what is from start up to end. */
  async replace(start: number, end: number, text: string): Promise<void> {
    if (!(Number.isInteger(start) && Number.isInteger(end) && 0 <= start && start <= end && end <= this.#text.length)) {
      throw new RangeError(`expected 0 <= start <= end <= ${this.#text.length}, found ${start} and ${end}`);
    }
    const whole = this.#text.slice(0, start) + text + this.#text.slice(end);
    return this.#change({ range: { start, end }, text }, whole);
  }

  /** Puts text in the place of all. */
  async set(text: string): Promise<void> {
    return this.#change({ text }, text);
  }

  #change(change: object, text: string): Promise<void> {
    this.#text = text; // at once: changes that are not waited for keep their order
    this.#version++;
    return this.client.notify('sequence/didChange', { uri: this.uri, version: this.#version, changes: [change] });
  }

  /**
   * Waits until the server tells of the last version. What is wrong with the document is a
   * ServerError. A model of pairs, or without labels, tells nothing of documents: give milliseconds
   * after which it is an error.
   */
  async wait(timeout?: number): Promise<Pushed> {
    const signal = timeout === undefined ? undefined : AbortSignal.timeout(timeout);
    while (this.#pushed?.version !== this.#version) {
      if (this.#lost) throw this.#lost;
      if (signal?.aborted) throw new Error(`${this.uri}: nothing was told of version ${this.#version} in ${timeout} ms`);
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

  /** Ends the document. The server forgets its text. */
  async close(): Promise<void> {
    if (this.client.forget(this)) await this.client.notify('sequence/didClose', { uri: this.uri });
  }

  /** Takes what the server says of the document. */
  tell(pushed: Pushed): void {
    this.#pushed = pushed;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Takes that the server says nothing more. */
  lose(): void {
    this.#lost = new ConnectionLost();
    for (const wake of [...this.#waiting]) wake();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
