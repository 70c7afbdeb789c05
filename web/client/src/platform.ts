/** The browser functions that the client uses. */

import type { Platform } from './types.js';

/** Returns the browser's functions. Missing objects, such as the document in a worker, are skipped. */
export function browserPlatform(): Platform {
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

/** Returns the URL that relative ones are resolved against. */
export function pageUrl(): string | undefined {
  return globalThis.document?.baseURI ?? globalThis.location?.href;
}

/** Runs a callback, and reports what it throws instead of passing it on. */
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
  const whenVisible = () => {
    if (document?.visibilityState === 'visible') call();
  };
  document?.addEventListener('visibilitychange', whenVisible);
  globalThis.addEventListener?.('online', call);
  return () => {
    document?.removeEventListener('visibilitychange', whenVisible);
    globalThis.removeEventListener?.('online', call);
  };
}
