/** HTTP requests with the token, and the refusals that they can end in. */

import { type Address, isToken } from './address.js';
import { refusalIn } from './frames.js';
import { BAD_TOKEN, errorText, tokenFailure } from './retry.js';
import type { TokenSource } from './token-source.js';
import type { Platform, Refusal } from './types.js';

const PROBE_PATH = 'api/tables';

/** A request that the server refused or did not answer. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';

  constructor(readonly refusal: Refusal) {
    super(refusal.message);
  }
}

/** Returns the response to a request; throws RequestRefused unless it is a success. */
export async function send(
  platform: Platform,
  address: Address,
  path: string,
  token: string | null,
  init: RequestInit = {},
): Promise<Response> {
  const url = address.to(path);
  const headers = new Headers(init.headers);
  if (!isToken(token)) throw new RequestRefused(BAD_TOKEN);
  if (token !== null) headers.set('Authorization', `Bearer ${token}`);
  let response: Response;
  try {
    response = await platform.fetch(url, { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted) throw error; // by the caller
    throw new RequestRefused(unreachable(address, errorText(error)));
  }
  if (response.ok) return response;
  throw new RequestRefused(await refusalOf(response, address));
}

/** Returns the token for a request; throws RequestRefused if it cannot be fetched. */
export function requestToken(tokens: TokenSource): Promise<string | null> {
  return tokens.get().catch((error) => {
    throw new RequestRefused(tokenFailure(error));
  });
}

/**
 * Returns why a socket did not open. Browsers do not expose the reason, so the same is requested over HTTP: the server
 * checks tokens and origins there as it does for sockets.
 */
export async function probe(
  platform: Platform,
  address: Address,
  token: string | null,
  signal: AbortSignal,
): Promise<Refusal> {
  try {
    await send(platform, address, PROBE_PATH, token, { signal, cache: 'no-store' });
    const message = `${address} answers HTTP but accepts no WebSocket: it is full, or a proxy in front of it blocks them.`;
    return { condition: 'SOCKET_REFUSED', message };
  } catch (error) {
    return error instanceof RequestRefused ? error.refusal : unreachable(address, errorText(error));
  }
}

export function unreachable(address: Address, why: string): Refusal {
  const hint = address.isCrossOrigin ? ' If it is up, its server.origins may lack this page.' : '';
  return { condition: 'SERVER_UNREACHABLE', message: `${address} does not answer: ${why}.${hint}` };
}

async function refusalOf(response: Response, address: Address): Promise<Refusal> {
  const { status } = response;
  const refusal = refusalIn(await response.json().catch(() => null), status);
  if (refusal) return refusal;
  const condition = status === 401 || status === 403 ? 'ACCESS_DENIED' : 'SERVER_ANSWER';
  return { condition, message: `${address} answers ${status}.`, status };
}
