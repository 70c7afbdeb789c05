import {
  ChangeDetectionStrategy,
  Component,
  computed,
  effect,
  Injectable,
  inject,
  signal,
  untracked,
} from '@angular/core';
import { Evertable } from '@evertable/angular';
import { OrchestratorStatus } from '../status/orchestrator-status';
import { SwapRequests } from './swap-requests';

const FRESH_MS = 5_000;

/** The topics of the broker, as suggestions; any other name may be typed. */
@Injectable({ providedIn: 'root' })
export class TopicSuggestions {
  private readonly evertable = inject(Evertable);
  private readonly topics = signal<Readonly<Record<string, readonly string[]>>>({});
  private fetchedAt = Number.NEGATIVE_INFINITY;

  /** By the field of the control message, such as `usersTopic`, because each source may have its own Kafka cluster. */
  readonly byField = this.topics.asReadonly();

  /** Fetches the topics, unless that was done a moment ago. */
  async refresh(): Promise<void> {
    if (Date.now() - this.fetchedAt < FRESH_MS) return;
    this.fetchedAt = Date.now();
    try {
      const response = await this.evertable.request('api/topics');
      const { topics } = (await response.json()) as { topics: Readonly<Record<string, readonly string[]>> };
      this.topics.set(topics);
    } catch {
      // no suggestions then; names can still be typed
    }
  }
}

interface JoinChoice {
  readonly type: string;
  readonly text: string;
}

/** Returns the four joins with one line each about the two sources. */
function joinChoices(left: string, right: string): readonly JoinChoice[] {
  return [
    { type: 'left', text: `all matches, and rows of ${left} without a match` },
    { type: 'inner', text: 'matches only' },
    { type: 'natural', text: `each row of ${left} once, with its newest match in ${right}` },
    { type: 'asof', text: `each row of ${right} once, with ${left} as of that time` },
  ];
}

/** Requests other topics or another join; empty fields keep their value. */
@Component({
  selector: 'et-swap-form',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styles: `
    form > label {
      display: block;
      margin: 0.6rem 0 0.25rem;
      font-size: 0.85rem;
      font-weight: 600;
    }
    input[type="text"] {
      width: 100%;
    }
    fieldset {
      margin: 0.8rem 0 0;
      padding: 0;
      border: 0;
    }
    legend {
      padding: 0;
      margin-bottom: 0.2rem;
      font-size: 0.85rem;
      font-weight: 600;
    }
    .join {
      display: flex;
      gap: 0.5rem;
      align-items: baseline;
      padding: 0.28rem 0.5rem;
      border-radius: 6px;
      color: var(--quiet);
      font-size: 0.85rem;
      cursor: pointer;
    }
    .join:hover {
      background: var(--sunken);
    }
    .join.chosen {
      background: var(--accent-soft);
      color: var(--ink);
    }
    .join b {
      margin-right: 0.25rem;
      color: var(--ink);
    }
    .join input {
      flex: none;
      margin: 0;
      accent-color: var(--accent);
      translate: 0 0.1rem;
    }
    .actions {
      display: flex;
      flex-wrap: wrap;
      gap: 0.5rem;
      margin-top: 0.9rem;
    }
    .hint {
      margin: 0.5rem 0 0;
      color: var(--quiet);
      font-size: 0.8rem;
    }
  `,
  template: `
    <form (submit)="swap($event)" autocomplete="off">
      @for (one of topics(); track one.key) {
        <label [for]="'topic-' + one.key">Topic for {{ one.source }}</label>
        <input
          [id]="'topic-' + one.key"
          type="text"
          [attr.list]="'topics-' + one.key"
          spellcheck="false"
          autocapitalize="off"
          [placeholder]="one.topic ? one.topic + ' (current)' : 'none yet'"
          [value]="typed()[one.key] ?? ''"
          (focus)="suggestions.refresh()"
          (input)="type(one.key, $event)"
        />
        <datalist [id]="'topics-' + one.key">
          @for (name of suggestions.byField()[one.key]; track name) {
            <option [value]="name"></option>
          }
        </datalist>
      }
      <fieldset>
        <legend>Join</legend>
        @for (join of joins(); track join.type) {
          <label class="join" [class.chosen]="join.type === chosenJoin()">
            <input type="radio" name="join" [value]="join.type" [checked]="join.type === chosenJoin()" (change)="newJoin.set(join.type)" />
            <span><b>{{ join.type }}</b> {{ join.text }}</span>
          </label>
        }
      </fieldset>
      <div class="actions">
        <button class="primary" type="submit">Swap</button>
        <button type="button" (click)="requests.rollback()" aria-describedby="rollback-hint">Roll back</button>
        @if (isChanged()) {
          <button class="plain" type="button" (click)="clear()">Clear</button>
        }
      </div>
      <p id="rollback-hint" class="hint">{{ rollbackHint() }}</p>
    </form>
  `,
})
export class SwapForm {
  protected readonly suggestions = inject(TopicSuggestions);
  protected readonly requests = inject(SwapRequests);
  private readonly status = inject(OrchestratorStatus);

  protected readonly typed = signal<Readonly<Record<string, string>>>({});
  /** The join that was chosen here; null keeps the live one. */
  protected readonly newJoin = signal<string | null>(null);

  protected readonly topics = computed(() => this.status.wiring()?.topics ?? []);
  protected readonly joins = computed(() => {
    const [left, right] = this.topics().map(({ source }) => source);
    return joinChoices(left ?? 'left', right ?? 'right');
  });
  protected readonly chosenJoin = computed(() => this.newJoin() ?? this.status.wiring()?.join);
  protected readonly message = computed(() => {
    const topics = Object.entries(this.typed()).filter(([, topic]) => topic.trim());
    const join = this.newJoin();
    return Object.fromEntries([...topics, ...(join ? [['joinType', join] as const] : [])]);
  });
  protected readonly isChanged = computed(() => Object.keys(this.message()).length > 0);
  protected readonly rollbackHint = computed(() => {
    const [number] = this.status.lingering();
    return number
      ? `Roll back returns to the previous wiring at once: generation ${number} still runs.`
      : 'Roll back returns to the previous wiring, which is rebuilt first.';
  });

  /** The last message; the form is cleared when it succeeds, unless it was edited meanwhile. */
  private readonly sent = signal<object | null>(null);

  constructor() {
    effect(() => {
      const outcome = this.requests.outcome();
      const hasSucceeded = outcome?.isSettled && outcome.tone !== 'bad';
      if (hasSucceeded && this.sent() === this.message()) untracked(() => this.clear());
    });
  }

  protected type(key: string, event: Event): void {
    const { value } = event.target as HTMLInputElement;
    this.typed.update((typed) => ({ ...typed, [key]: value }));
  }

  protected clear(): void {
    this.typed.set({});
    this.newJoin.set(null);
  }

  protected async swap(event: Event): Promise<void> {
    event.preventDefault();
    if (!this.isChanged()) {
      this.requests.showHint('Nothing to swap yet: type a topic, or choose another join.');
      return;
    }
    this.sent.set(this.message());
    await this.requests.swap(this.message());
  }
}
