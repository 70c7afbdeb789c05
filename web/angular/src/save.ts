import type { Query } from './query.js';
import { viewOf } from './query.js';

/** The address of a table as CSV, with these columns, order and filter. */
export function csvPath(table: string, query: Query): string {
  const { columns, sort, filter, newestFirst } = viewOf(query, 0, 0);
  const parameters = new URLSearchParams();
  for (const name of columns ?? []) parameters.append('columns', name);
  for (const key of sort ?? []) parameters.append('sort', key);
  if (filter) parameters.set('filter', filter);
  if (newestFirst) parameters.set('newestFirst', 'true');
  const asked = parameters.toString();
  return `api/tables/${encodeURIComponent(table)}.csv${asked && `?${asked}`}`;
}

/** Saves an answer as a file. Browsers keep a blob of this size on disk, so that it is never held whole in memory. */
export async function saveAs(response: Response, name: string, document: Document): Promise<void> {
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
