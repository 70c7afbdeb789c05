import { computed, effect, Injectable, Injector, inject, signal } from '@angular/core';
import { Evertable } from '@evertable/angular';
import { refusalOf, refusalText } from '../format';
import { OrchestratorStatus } from '../status/orchestrator-status';
import { describeWiring, wiringOf } from '../status/wiring';
import { type Fields, type Followed, follow, rowsOf, textOf } from '../tables/follow';
import { MESSAGES } from '../tables/table-list';

/** The colour of a result: success, pending, neutral, failure. */
export type Tone = 'good' | 'wait' | 'calm' | 'bad';

/** The position of a control message, as the server answers a POST. */
export interface MessagePosition {
  readonly partition: number;
  readonly offset: number;
}

/** The state of a control message so far. */
export interface Outcome {
  readonly tone: Tone;
  readonly text: string;
  /** Whether it is final. */
  readonly isSettled: boolean;
}

const TONES: Record<string, Tone> = {
  pending: 'wait',
  applied: 'good',
  unchanged: 'calm',
  superseded: 'calm',
  held: 'bad',
  rejected: 'bad',
  failed: 'bad',
};

export function toneOf(result: string): Tone {
  return TONES[result] ?? 'calm';
}

export const SENT: Outcome = {
  tone: 'wait',
  text: 'Sent. Waiting for the orchestrator to read it …',
  isSettled: false,
};

/** Returns the outcome for a message's row of `control_raw` (null until it was read) and the orchestrator's status. */
export function outcomeOf(row: Fields | null, status: Fields | null, seconds: number): Outcome {
  const result = textOf(row?.result);
  if (!row || !result) return SENT;
  const text = resultText(result, textOf(row.reason), status, seconds);
  return { tone: toneOf(result), text, isSettled: result !== 'pending' };
}

function resultText(result: string, reason: string, status: Fields | null, seconds: number): string {
  const why = reason ? ` ${reason}` : '';
  const live = status ? describeWiring(wiringOf(status)) : '';
  switch (result) {
    case 'pending':
      return 'Accepted. A new generation is being built; the tables stay as they are until it is ready.';
    case 'applied':
      return `Done in ${seconds.toFixed(1)} s.${live ? ` Live now: ${live}.` : ''}${why}`;
    case 'held':
      return 'Held: the result looks wrong, so the tables stay as they are. See the review.';
    case 'unchanged':
      return 'Unchanged: this wiring is live already.';
    case 'superseded':
      return `Superseded: a newer message came before this one was live.${why}`;
    case 'rejected':
      return `Rejected; the tables stay as they are:${why || ' no reason was given.'}`;
    case 'failed':
      return `Failed; the previous wiring stays live.${why}`;
    default:
      return `${result}.${why}`;
  }
}

/** Returns the filter that shows only one control message. */
export function filterFor(position: MessagePosition): string {
  return `partition = ${position.partition} and offset = ${position.offset}`;
}

interface SwapRequest {
  readonly sentAt: number;
  readonly settledAt: number | null;
  /** Its row of `control_raw`; null until the server has answered. */
  readonly row: Followed | null;
  /** The outcome, if it is known without that row. */
  readonly outcome: Outcome | null;
}

/** Sends swaps and rollbacks, and follows the outcome of the last one. */
@Injectable({ providedIn: 'root' })
export class SwapRequests {
  private readonly evertable = inject(Evertable);
  private readonly status = inject(OrchestratorStatus);
  private readonly injector = inject(Injector);
  private readonly last = signal<SwapRequest | null>(null);

  /** The outcome of the last request; null if there was none. */
  readonly outcome = computed((): Outcome | null => {
    const request = this.last();
    if (!request || request.outcome) return request?.outcome ?? null;
    const [row = null] = rowsOf(request.row?.page() ?? null);
    const seconds = ((request.settledAt ?? Date.now()) - request.sentAt) / 1000;
    return outcomeOf(row, this.status.row(), seconds);
  });

  constructor() {
    effect(() => {
      const request = this.last();
      if (request && request.settledAt === null && this.outcome()?.isSettled)
        this.last.set({ ...request, settledAt: Date.now() });
    });
  }

  swap(message: Readonly<Record<string, string | boolean>>): Promise<void> {
    return this.send('api/control', message);
  }

  rollback(): Promise<void> {
    return this.send('api/rollback', {});
  }

  /** Shows a text in place of an outcome, because there is nothing to send. */
  showHint(text: string): void {
    this.start({ tone: 'calm', text, isSettled: true });
  }

  /** Hides the outcome. */
  dismiss(): void {
    this.last()?.row?.stop();
    this.last.set(null);
  }

  private async send(path: string, body: object): Promise<void> {
    const request = this.start(null);
    try {
      const response = await this.evertable.request(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      const position = (await response.json()) as MessagePosition;
      if (this.last() !== request) return;
      const row = follow(MESSAGES, { filter: filterFor(position), limit: 1 }, this.injector);
      this.last.set({ ...request, row });
    } catch (error) {
      const outcome: Outcome = { tone: 'bad', text: refusalText(refusalOf(error)), isSettled: true };
      if (this.last() === request) this.last.set({ ...request, outcome });
    }
  }

  private start(outcome: Outcome | null): SwapRequest {
    this.last()?.row?.stop();
    const request = { sentAt: Date.now(), settledAt: null, row: null, outcome };
    this.last.set(request);
    return request;
  }
}
