import {
  afterNextRender,
  ChangeDetectionStrategy,
  Component,
  computed,
  type ElementRef,
  inject,
  input,
  output,
  viewChild,
} from '@angular/core';
import type { Refusal } from '@evertable/client';
import { Session } from './session';

/** Shows why access is refused, and takes a token. */
@Component({
  selector: 'et-login',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styles: `
    :host {
      display: grid;
      min-height: 100dvh;
      place-items: center;
      padding: 1rem;
    }
    .card {
      width: min(26rem, 100%);
      padding: 2rem;
      border: 1px solid var(--line);
      border-radius: 12px;
      background: var(--surface);
      box-shadow: var(--shadow);
    }
    h1 {
      margin: 0.5rem 0 0.75rem;
      font-size: 1.4rem;
      letter-spacing: -0.01em;
    }
    p {
      margin: 0 0 1rem;
    }
    .bad {
      color: var(--bad);
    }
    label {
      display: block;
      margin-bottom: 0.3rem;
      font-weight: 600;
    }
    input,
    button {
      width: 100%;
    }
    .hint {
      margin: 0.5rem 0 1.25rem;
      color: var(--quiet);
      font-size: 0.85rem;
    }
  `,
  template: `
    <main class="card">
      <img src="logo.svg" alt="" width="40" height="40" />
      <h1>Evertable</h1>
      @if (needsToken()) {
        <p id="why" role="alert" [class.bad]="reason().condition === 'TOKEN_WRONG'">{{ text() }}</p>
        <form (submit)="signIn($event)">
          <label for="token">Token</label>
          <input #token id="token" name="token" type="password" autocomplete="current-password" spellcheck="false" required aria-describedby="why hint" />
          <p id="hint" class="hint">
            The server's <code>EVERTABLE_TOKEN</code>; <code>evertable demo</code> prints a link that contains it.
            This browser tab keeps it until you close the tab.
          </p>
          <button class="primary" type="submit">Open the tables</button>
        </form>
      } @else {
        <p role="alert" class="bad">{{ reason().message }}</p>
        <p class="hint"><code>{{ reason().condition }}</code></p>
        <button class="primary" type="button" (click)="retry.emit()">Try again</button>
      }
    </main>
  `,
})
export class Login {
  readonly reason = input.required<Refusal>();
  /** A token was entered, or another attempt was requested. */
  readonly retry = output<void>();

  private readonly session = inject(Session);
  private readonly field = viewChild<ElementRef<HTMLInputElement>>('token');

  protected readonly needsToken = computed(() => this.reason().condition.startsWith('TOKEN_'));
  protected readonly text = computed(() =>
    this.reason().condition === 'TOKEN_WRONG'
      ? 'The server does not know that token. It may have been restarted with another one.'
      : 'This server requires a token.',
  );

  constructor() {
    afterNextRender(() => this.field()?.nativeElement.focus());
  }

  protected signIn(event: Event): void {
    event.preventDefault();
    const token = this.field()?.nativeElement.value.trim();
    if (!token) return;
    this.session.signIn(token);
    this.retry.emit();
  }
}
