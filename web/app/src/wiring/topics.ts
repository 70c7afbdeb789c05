import { Injectable, inject, signal } from '@angular/core';
import { Evertable } from '@evertable/angular';

const FRESH_MS = 5_000;

/** The topics that the broker has, to choose from; any other may be typed. */
@Injectable({ providedIn: 'root' })
export class Topics {
  private readonly evertable = inject(Evertable);
  private readonly known = signal<Readonly<Record<string, readonly string[]>>>({});
  private asked = Number.NEGATIVE_INFINITY;

  /** By the control message's key, such as `usersTopic`: each source may have a Kafka of its own. */
  readonly names = this.known.asReadonly();

  /** Asks the server, if that was not done just now. */
  async refresh(): Promise<void> {
    if (Date.now() - this.asked < FRESH_MS) return;
    this.asked = Date.now();
    try {
      const answer = await this.evertable.request('api/topics');
      const { topics } = (await answer.json()) as { topics: Readonly<Record<string, readonly string[]>> };
      this.known.set(topics);
    } catch {
      // then there is nothing to offer, and a name can still be typed
    }
  }
}
