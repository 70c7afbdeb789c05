/** Where the server is, and how to show oneself to it. */

import { SUBPROTOCOL } from './frames.js';

/** The server's addresses, all below one base; `page` is what a relative or missing address counts from. */
export class Address {
  readonly base: URL;
  /** Whether the page is of another origin: browsers then hide refusals from it. */
  readonly isElsewhere: boolean;

  constructor(url: string | URL | undefined, page: string | undefined) {
    const base = url ? resolved(String(url), page) : resolved('.', page);
    if (!/^https?:$/.test(base.protocol))
      throw new TypeError(`The address ${base.href} is not one of http or https.`);
    if (base.username || base.password || (url && (base.search || base.hash))) {
      throw new TypeError('The address holds more than a host, a port and a path. A token is given apart.');
    }
    base.search = base.hash = '';
    if (!base.pathname.endsWith('/')) base.pathname += '/';
    this.base = base;
    this.isElsewhere = page !== undefined && new URL(page).origin !== base.origin;
  }

  get socket(): string {
    return this.to('ws').replace(/^http/, 'ws');
  }

  /** The address of `path`, which must lie below the base: the token is for nobody else. */
  to(path: string): string {
    const { href } = new URL(path.replace(/^\/+/, ''), this.base);
    if (!href.startsWith(this.base.href)) throw new TypeError(`${href} is not below ${this.base.href}.`);
    return href;
  }

  toString(): string {
    return this.base.href.replace(/\/$/, '');
  }
}

/** Whether servers can have this token. */
export function isToken(token: string | null): boolean {
  return token === null || /^[!-~]+$/.test(token);
}

/** What a socket offers: browsers let nobody set its headers, so the token goes there. */
export function subprotocols(token: string | null): string[] {
  if (token === null) return [SUBPROTOCOL];
  const base64url = btoa(token).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  return [SUBPROTOCOL, `bearer.${base64url}`];
}

function resolved(url: string, page: string | undefined): URL {
  try {
    return new URL(url, page);
  } catch {
    throw new TypeError(`The address '${url}' cannot be read; write it like https://tables.example.`);
  }
}
