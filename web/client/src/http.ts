/** Requests over HTTP with the token, and what refused ones say. */

import { type Address, isToken } from './address.js';
import { refusalIn } from './refusal.js';
import type { Tokens } from './tokens.js';
import type { Refusal, Surroundings } from './types.js';
import { BAD_TOKEN, inWords, noToken } from './verdict.js';

const PROBED = 'api/tables';

/** A request that the server does not meet, or does not answer. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';

  constructor(readonly refusal: Refusal) {
    super(refusal.message);
  }
}

/** The answer to a request; throws RequestRefused for any that is not a success. */
export async function send(
  world: Surroundings,
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
    response = await world.fetch(url, { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted) throw error; // by who asked
    throw new RequestRefused(unreachable(address, inWords(error)));
  }
  if (response.ok) return response;
  throw new RequestRefused(await refusalOf(response, address));
}

/** The token, for a request. */
export function tokenOf(tokens: Tokens): Promise<string | null> {
  return tokens.ask().catch((error) => {
    throw new RequestRefused(noToken(error));
  });
}

/**
 * Why a socket did not open. Browsers do not tell, so the same is asked over HTTP: the server checks tokens and origins
 * there as it does for sockets.
 */
export async function probe(
  world: Surroundings,
  address: Address,
  token: string | null,
  signal: AbortSignal,
): Promise<Refusal> {
  try {
    await send(world, address, PROBED, token, { signal, cache: 'no-store' });
    const message = `${address} answers, but opens no WebSocket: it is full, or a proxy before it lets none through.`;
    return { condition: 'SOCKET_REFUSED', message };
  } catch (error) {
    return error instanceof RequestRefused ? error.refusal : unreachable(address, inWords(error));
  }
}

export function unreachable(address: Address, why: string): Refusal {
  const hint = address.isElsewhere ? ' If it is up, its server.origins may lack this page.' : '';
  return { condition: 'SERVER_UNREACHABLE', message: `There is no answer from ${address}: ${why}.${hint}` };
}

async function refusalOf(response: Response, address: Address): Promise<Refusal> {
  const { status } = response;
  const said = refusalIn(await response.json().catch(() => null), status);
  if (said) return said;
  const condition = status === 401 || status === 403 ? 'ACCESS_DENIED' : 'SERVER_ANSWER';
  return { condition, message: `${address} answers ${status}.`, status };
}
