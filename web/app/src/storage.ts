/** Returns a value from browser storage; null if it is missing or storage is disabled. */
export function readStorage(window: Window, kind: StorageKind, key: string): string | null {
  try {
    return window[kind].getItem(key);
  } catch {
    return null;
  }
}

/** Stores a value, or removes it for null. If storage is disabled, it lasts until the page is reloaded. */
export function writeStorage(window: Window, kind: StorageKind, key: string, value: string | null): void {
  try {
    if (value === null) window[kind].removeItem(key);
    else window[kind].setItem(key, value);
  } catch {
    // storage is disabled
  }
}

type StorageKind = 'localStorage' | 'sessionStorage';
