export { EvertableClient } from './client.js';
export { RequestRefused } from './http.js';
export type * from './types.js';
