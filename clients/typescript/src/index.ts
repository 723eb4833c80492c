export { Client, type Abortable, type Ahead, type Patience, type Reading, type Windowed } from './client.js';
export { Document } from './document.js';
export { ConnectionLost, ServerError } from './errors.js';
export type * from './types.js';
