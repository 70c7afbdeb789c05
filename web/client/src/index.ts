export { EvertableClient } from './client';
export { RequestRefused } from './http';
export type * from './types';
