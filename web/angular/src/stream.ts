import type { Page, Subscription, View, Viewer } from '@evertable/client';
import { ReplaySubject } from 'rxjs';
import type { TableStream } from './evertable.js';

/** Pages as lists of objects. A row that did not change is the same object as before. */
export function streamOf(
  subscribe: (view: View, viewer: Viewer) => Subscription,
  maxRows: number,
): TableStream {
  const rows$ = new ReplaySubject<object[]>(1);
  let names = '';
  let known = new Map<Page['rows'][number], object>();

  const subscription = subscribe(
    { limit: maxRows },
    {
      page({ columns, rows }) {
        const now = JSON.stringify(columns.map((column) => column.name));
        const before = now === names ? known : new Map<Page['rows'][number], object>();
        names = now;
        known = new Map(
          rows.map((row) => [
            row,
            before.get(row) ?? Object.fromEntries(columns.map((column, at) => [column.name, row[at]])),
          ]),
        );
        rows$.next(rows.map((row) => known.get(row) as object));
      },
      refused(reason) {
        rows$.error(reason);
        queueMicrotask(() => subscription.dispose()); // It may be refused before it is here.
      },
    },
  );
  return {
    rows$: rows$.asObservable(),
    dispose() {
      subscription.dispose();
      rows$.complete();
    },
  };
}
