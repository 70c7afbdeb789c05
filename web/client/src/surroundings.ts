/** The browser, as the client sees it. */

import type { Surroundings } from './types.js';

/** The browser's own; what is not there (such as a document in a worker) is done without. */
export function browser(): Surroundings {
  return {
    socket: (url, protocols) => new WebSocket(url, protocols),
    fetch: (input, init) => fetch(input, init),
    now: () => Date.now(),
    random: () => Math.random(),
    setTimeout: (call, ms) => setTimeout(call, ms),
    clearTimeout: (timer) => clearTimeout(timer as number),
    onReturn,
  };
}

/** The address that relative ones count from. */
export function pageAddress(): string | undefined {
  return globalThis.document?.baseURI ?? globalThis.location?.href;
}

/** Calls back; what that throws is reported, and harms nobody else. */
export function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    if (typeof reportError === 'function') reportError(error);
    else console.error(error);
  }
}

function onReturn(call: () => void): () => void {
  const { document } = globalThis;
  const seen = () => {
    if (document?.visibilityState === 'visible') call();
  };
  document?.addEventListener('visibilitychange', seen);
  globalThis.addEventListener?.('online', call);
  return () => {
    document?.removeEventListener('visibilitychange', seen);
    globalThis.removeEventListener?.('online', call);
  };
}
