export { Client, type Abortable, type PredictOptions, type RetryOptions, type StreamOptions, type WindowOptions } from './client.js';
export { Document } from './document.js';
export { ConnectionLost, ServerError } from './errors.js';
export type * from './types.js';
