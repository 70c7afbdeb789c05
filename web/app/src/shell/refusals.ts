import { type Refusal, RequestRefused } from '@evertable/client';

/** What a failed request says: the server's own refusal, or that there was no answer that we could read. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof RequestRefused) return error.refusal;
  return { condition: 'SERVER_ANSWER', message: `The server's answer cannot be read: ${error}.` };
}

const WORDS: Record<string, string> = {
  CONTROL_DISABLED: 'This server shows tables and wires nothing: it runs without an orchestrator.',
  CONTROL_READ_ONLY:
    'Evertable may not write to the control topic, so it cannot swap for you. Send the message with a producer that may.',
  NOTHING_BEFORE: 'There is nothing to go back to: this is the first wiring.',
  TOKEN_MISSING: 'The server wants a token.',
  TOKEN_WRONG: 'The server does not know the token any longer.',
  SERVER_UNREACHABLE:
    'The server does not answer, so nothing was sent. Try again when the connection is live.',
};

/** A refused request in words: ours where we know more than the server's line, else the server's. */
export function inWords(refusal: Refusal): string {
  return WORDS[refusal.condition] ?? `${refusal.message} (${refusal.condition})`;
}
