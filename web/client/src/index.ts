export { EvertableClient } from './client';
export type * from './types';
