import { ChangeDetectionStrategy, Component, effect, inject, signal, untracked } from '@angular/core';
import { LiveTable } from '@evertable/angular';
import { LogView } from '../log/log-view';
import { ChosenTable } from './chosen-table';
import { LOGS, panelId, tabId } from './operators';

/** As many as people go to and fro between; each one costs a subscription. */
const KEPT = 3;

/** Shows the chosen table. Those looked at before stay behind it as they were, so that coming back does not flash. */
@Component({
  selector: 'et-table-stage',
  changeDetection: ChangeDetectionStrategy.OnPush,
  imports: [LiveTable, LogView],
  styleUrl: './table-stage.css',
  template: `
    @for (name of kept(); track name) {
      <div
        role="tabpanel"
        [id]="panelId(name)"
        [attr.aria-labelledby]="tabId(name)"
        [class.behind]="name !== chosen.name()"
        [inert]="name !== chosen.name()"
      >
        @if (name === logs) {
          <et-log-view />
        } @else {
          <live-table [table]="name" />
        }
      </div>
    }
  `,
})
export class TableStage {
  protected readonly chosen = inject(ChosenTable);
  protected readonly logs = LOGS;
  protected readonly tabId = tabId;
  protected readonly panelId = panelId;
  /** Most recently looked at last. */
  private readonly recent = signal<readonly string[]>([]);
  /** In an order that stays, so that no element is moved: a moved grid would lose its place. */
  protected readonly kept = signal<readonly string[]>([]);

  constructor() {
    effect(() => {
      const name = this.chosen.name();
      if (name !== null) untracked(() => this.show(name));
    });
  }

  private show(name: string): void {
    const recent = [...this.recent().filter((one) => one !== name), name].slice(-KEPT);
    this.recent.set(recent);
    const stay = this.kept().filter((one) => recent.includes(one));
    this.kept.set(stay.includes(name) ? stay : [...stay, name]);
  }
}
