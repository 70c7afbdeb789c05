/** The token that a printed link carries in its fragment: `http://host:10000/#token=…`; null if there is none. */
export function tokenIn(fragment: string): string | null {
  const found = /^#?token=(.*)$/s.exec(fragment);
  if (!found) return null;
  try {
    return decodeURIComponent(found[1] ?? '').trim() || null;
  } catch {
    return found[1]?.trim() || null; // a stray % is part of the token
  }
}
