import {
  ChangeDetectionStrategy,
  Component,
  ElementRef,
  inject,
  input,
  output,
  signal,
  viewChild,
} from '@angular/core';
import { withMarks } from './cells.js';
import type { GridColumn } from './grid.js';
import { TEXTS } from './texts.js';

/** Shows and hides columns. */
@Component({
  selector: 'live-column-chooser',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: {
    '(keydown.escape)': 'close(true)',
    '(document:pointerdown)': 'closeOutside($event)',
    '(focusout)': 'closeOutside({ target: $event.relatedTarget })',
  },
  template: `
    <button #opener type="button" [attr.aria-expanded]="open()" (click)="open.set(!open())">{{ texts.columns }}</button>
    @if (open()) {
      <div class="live-panel" role="group" [attr.aria-label]="texts.columns">
        @for (column of columns(); track column.name) {
          <label>
            <input
              #box
              type="checkbox"
              [checked]="column.visible"
              [disabled]="column.visible && isLast()"
              (change)="visible.emit({ columns: [column.name], visible: box.checked })"
            />
            {{ marked(column.name) }}
          </label>
        }
        <button type="button" (click)="showAll()">{{ texts.showAll }}</button>
      </div>
    }
  `,
})
export class ColumnChooser {
  readonly columns = input.required<readonly GridColumn[]>();
  readonly visible = output<{ columns: string[]; visible: boolean }>();

  protected readonly texts = TEXTS;
  protected readonly marked = withMarks;
  protected readonly open = signal(false);
  private readonly host = inject<ElementRef<HTMLElement>>(ElementRef);
  private readonly opener = viewChild.required<ElementRef<HTMLButtonElement>>('opener');

  /** Whether one column is left, which must stay visible. */
  protected isLast(): boolean {
    return this.columns().filter((column) => column.visible).length === 1;
  }

  protected showAll(): void {
    this.visible.emit({ columns: this.columns().map((column) => column.name), visible: true });
  }

  protected close(refocus: boolean): void {
    if (this.open() && refocus) this.opener().nativeElement.focus();
    this.open.set(false);
  }

  protected closeOutside({ target }: { target: EventTarget | null }): void {
    if (target instanceof Node && !this.host.nativeElement.contains(target)) this.close(false);
  }
}
