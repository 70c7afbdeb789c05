/** The server's URLs, and the subprotocols that carry the token. */

import { SUBPROTOCOL } from './frames.js';

/** The server's URLs, all below one base; a relative or missing `url` is resolved against `page`. */
export class Address {
  readonly base: URL;
  /** Whether the page has another origin, which browsers hide refusals from. */
  readonly isCrossOrigin: boolean;

  constructor(url: string | URL | undefined, page: string | undefined) {
    const base = url ? resolved(String(url), page) : resolved('.', page);
    if (!/^https?:$/.test(base.protocol))
      throw new TypeError(`The address ${base.href} must start with http:// or https://.`);
    if (base.username || base.password || (url && (base.search || base.hash))) {
      throw new TypeError(
        'The address may only have a host, a port and a path. Pass a token as the `token` option.',
      );
    }
    base.search = base.hash = '';
    if (!base.pathname.endsWith('/')) base.pathname += '/';
    this.base = base;
    this.isCrossOrigin = page !== undefined && new URL(page).origin !== base.origin;
  }

  get socket(): string {
    return this.to('ws').replace(/^http/, 'ws');
  }

  /** Returns the URL of `path`, which must be below the base, so that the token goes to no other server. */
  to(path: string): string {
    const { href } = new URL(path.replace(/^\/+/, ''), this.base);
    if (!href.startsWith(this.base.href)) throw new TypeError(`${href} is not below ${this.base.href}.`);
    return href;
  }

  toString(): string {
    return this.base.href.replace(/\/$/, '');
  }
}

/** Whether a server can have this token. */
export function isToken(token: string | null): boolean {
  return token === null || /^[!-~]+$/.test(token);
}

/** Returns the subprotocols to offer. They carry the token, because browsers do not let a page set headers. */
export function subprotocols(token: string | null): string[] {
  if (token === null) return [SUBPROTOCOL];
  const base64url = btoa(token).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  return [SUBPROTOCOL, `bearer.${base64url}`];
}

function resolved(url: string, page: string | undefined): URL {
  try {
    return new URL(url, page);
  } catch {
    throw new TypeError(`The address '${url}' is invalid; it must look like https://tables.example.`);
  }
}
