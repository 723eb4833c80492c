import { ConnectionError, ErrorCodes, ResponseError } from 'vscode-jsonrpc/node';

const busy = -32000;

/** An error response: its code, its message, and data such as the invalid field or the time before a retry. */
export class ServerError extends Error {
  constructor(readonly code: number, message: string, readonly data?: unknown) {
    super(message);
    this.name = 'ServerError';
  }

  /** The milliseconds after which to retry; undefined if a retry is useless. */
  get retryAfter(): number | undefined {
    const after = (this.data as { retryAfterMilliseconds?: number } | undefined)?.retryAfterMilliseconds;
    return this.code === busy ? after : undefined;
  }
}

/** The error of requests and notifications after the connection has ended. */
export class ConnectionLost extends Error {
  constructor(message = 'the server is gone') {
    super(message);
    this.name = 'ConnectionLost';
  }
}

/** Error codes with which vscode-jsonrpc reports a lost connection. The server never sends them. */
const ownCodes = new Set<number>([
  ErrorCodes.PendingResponseRejected, ErrorCodes.ConnectionInactive, ErrorCodes.MessageWriteError, ErrorCodes.MessageReadError,
]);

/** Converts an error of vscode-jsonrpc to ServerError or ConnectionLost. Returns any other error unchanged. */
export function convertError(error: unknown): unknown {
  if (error instanceof ResponseError) {
    return ownCodes.has(error.code) ? new ConnectionLost() : new ServerError(error.code, error.message, error.data);
  }
  const { code } = error as NodeJS.ErrnoException;
  return error instanceof ConnectionError || code === 'EPIPE' || code === 'ECONNRESET' || code === 'ERR_STREAM_DESTROYED'
    ? new ConnectionLost() : error;
}
