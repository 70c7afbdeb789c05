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

/** Asks for the token, and says why one is needed. */
@Component({
  selector: 'et-login',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styleUrl: './login.css',
  template: `
    <main class="card">
      <img src="logo.svg" alt="" width="40" height="40" />
      <h1>Evertable</h1>
      @if (wantsToken()) {
        <p id="why" role="alert" [class.bad]="reason().condition === 'TOKEN_WRONG'">{{ words() }}</p>
        <form (submit)="enter($event)">
          <label for="token">Token</label>
          <input #token id="token" name="token" type="password" autocomplete="current-password" spellcheck="false" required aria-describedby="why hint" />
          <p id="hint" class="hint">
            It is what <code>EVERTABLE_TOKEN</code> was set to for the server; <code>evertable demo</code> prints a link that carries it.
            It is kept in this browser tab until you close it.
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
  /** A token was entered, or the person wants another attempt. */
  readonly retry = output<void>();

  private readonly session = inject(Session);
  private readonly field = viewChild<ElementRef<HTMLInputElement>>('token');

  protected readonly wantsToken = computed(() => this.reason().condition.startsWith('TOKEN_'));
  protected readonly words = computed(() =>
    this.reason().condition === 'TOKEN_WRONG'
      ? 'The server does not know that token. It may have been started again with another one.'
      : 'This server shows its tables only to those who have its token.',
  );

  constructor() {
    afterNextRender(() => this.field()?.nativeElement.focus());
  }

  protected enter(event: Event): void {
    event.preventDefault();
    const token = this.field()?.nativeElement.value.trim();
    if (!token) return;
    this.session.enter(token);
    this.retry.emit();
  }
}
