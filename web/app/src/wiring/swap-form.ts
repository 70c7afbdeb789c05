import {
  ChangeDetectionStrategy,
  Component,
  computed,
  effect,
  inject,
  signal,
  untracked,
} from '@angular/core';
import { joins } from './joins';
import { Status } from './status';
import { SwapDesk } from './swap-desk';
import { Topics } from './topics';

/** Asks for other topics or another join; what is left empty stays as it is. */
@Component({
  selector: 'et-swap-form',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styleUrl: './swap-form.css',
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
          [placeholder]="one.topic ? one.topic + ' (as it is)' : 'none yet'"
          [value]="typed()[one.key] ?? ''"
          (focus)="known.refresh()"
          (input)="type(one.key, $event)"
        />
        <datalist [id]="'topics-' + one.key">
          @for (name of known.names()[one.key]; track name) {
            <option [value]="name"></option>
          }
        </datalist>
      }
      <fieldset>
        <legend>Join</legend>
        @for (join of kinds(); track join.type) {
          <label class="join" [class.chosen]="join.type === chosenJoin()">
            <input type="radio" name="join" [value]="join.type" [checked]="join.type === chosenJoin()" (change)="newJoin.set(join.type)" />
            <span><b>{{ join.type }}</b> {{ join.words }}</span>
          </label>
        }
      </fieldset>
      <div class="actions">
        <button class="primary" type="submit">Swap</button>
        <button type="button" (click)="desk.rollback()" aria-describedby="rollback-words">Roll back</button>
        @if (touched()) {
          <button class="plain" type="button" (click)="clear()">Clear</button>
        }
      </div>
      <p id="rollback-words" class="hint">{{ rollbackWords() }}</p>
    </form>
  `,
})
export class SwapForm {
  protected readonly known = inject(Topics);
  protected readonly desk = inject(SwapDesk);
  private readonly status = inject(Status);

  protected readonly typed = signal<Readonly<Record<string, string>>>({});
  /** The join that was chosen here; null while it is to stay as it is. */
  protected readonly newJoin = signal<string | null>(null);

  protected readonly topics = computed(() => this.status.wiring()?.topics ?? []);
  protected readonly kinds = computed(() => {
    const [left, right] = this.topics().map(({ source }) => source);
    return joins(left ?? 'left', right ?? 'right');
  });
  protected readonly chosenJoin = computed(() => this.newJoin() ?? this.status.wiring()?.join);
  protected readonly message = computed(() => {
    const given = Object.entries(this.typed()).filter(([, topic]) => topic.trim());
    const join = this.newJoin();
    return Object.fromEntries([...given, ...(join ? [['joinType', join] as const] : [])]);
  });
  protected readonly touched = computed(() => Object.keys(this.message()).length > 0);
  protected readonly rollbackWords = computed(() => {
    const [number] = this.status.lingering();
    return number
      ? `Roll back goes to the wiring before this one, at once: generation ${number} still runs.`
      : 'Roll back goes to the wiring before this one; it is built first.';
  });

  /** What was sent last; if it comes to something and nobody typed meanwhile, the form is empty again. */
  private readonly sent = signal<object | null>(null);

  constructor() {
    effect(() => {
      const fate = this.desk.fate();
      const done = fate?.settled && fate.tone !== 'bad';
      if (done && this.sent() === this.message()) untracked(() => this.clear());
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
    if (!this.touched()) {
      this.desk.say('Nothing to swap yet: type a topic, or choose another join.');
      return;
    }
    this.sent.set(this.message());
    await this.desk.swap(this.message());
  }
}
