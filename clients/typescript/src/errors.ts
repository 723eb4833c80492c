import { ConnectionError, ErrorCodes, ResponseError } from 'vscode-jsonrpc/node';

const busy = -32000;

/** An answer that is an error: its code, its message, and data that says where. */
export class ServerError extends Error {
  constructor(readonly code: number, message: string, readonly data?: unknown) {
    super(message);
    this.name = 'ServerError';
  }

  /** The milliseconds after which it may be tried again; undefined where there is no use in that. */
  get retryAfter(): number | undefined {
    const after = (this.data as { retryAfterMilliseconds?: number } | undefined)?.retryAfterMilliseconds;
    return this.code === busy ? after : undefined;
  }
}

/** The server is gone. */
export class ConnectionLost extends Error {
  constructor(message = 'the server is gone') {
    super(message);
    this.name = 'ConnectionLost';
  }
}

/** The errors of vscode-jsonrpc itself, in place of an answer. */
const ownCodes = new Set<number>([
  ErrorCodes.PendingResponseRejected, ErrorCodes.ConnectionInactive, ErrorCodes.MessageWriteError, ErrorCodes.MessageReadError,
]);

/** What vscode-jsonrpc throws, as one of these. */
export function converted(error: unknown): unknown {
  if (error instanceof ResponseError) {
    return ownCodes.has(error.code) ? new ConnectionLost() : new ServerError(error.code, error.message, error.data);
  }
  const { code } = error as NodeJS.ErrnoException;
  return error instanceof ConnectionError || code === 'EPIPE' || code === 'ECONNRESET' || code === 'ERR_STREAM_DESTROYED'
    ? new ConnectionLost() : error;
}
