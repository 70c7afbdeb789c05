/** Refusals as servers write them, in frames and in answers over HTTP. */

import type { Refusal } from './types.js';

/** The refusal that an object holds; null if it is something else. */
export function refusalIn(body: unknown, status?: number): Refusal | null {
  const { condition, message, position } = (body ?? {}) as Record<string, unknown>;
  if (typeof condition !== 'string') return null;
  return {
    condition,
    message: String(message ?? ''),
    ...(status !== undefined && { status }),
    ...(Number.isInteger(position) && { position: position as number }),
  };
}
