import { type Query, viewOf } from './query.js';

/** Copies a text to the clipboard; returns false if the browser does not allow it. */
export async function copyText(text: string, document: Document): Promise<boolean> {
  try {
    await document.defaultView?.navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text, document);
  }
}

/** Copies without the clipboard API, which pages without TLS do not have. */
function copyBySelection(text: string, document: Document): boolean {
  const before = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'live-hidden';
  document.body.append(area);
  area.select();
  const copied = document.execCommand?.('copy') ?? false;
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return copied;
}

/** Returns values as one line for a spreadsheet, quoted where a value would break the line. */
export function asTsv(values: readonly unknown[]): string {
  return values
    .map((value) => (value === null || value === undefined ? '' : String(value)))
    .map((text) => (/[\t\r\n"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text))
    .join('\t');
}

/** Returns the path of a table's CSV export with the columns, order and filter of a query. */
export function csvPath(table: string, query: Query): string {
  const { columns, sort, filter, newestFirst } = viewOf(query, 0, 0);
  const parameters = new URLSearchParams();
  for (const name of columns ?? []) parameters.append('columns', name);
  for (const key of sort ?? []) parameters.append('sort', key);
  if (filter) parameters.set('filter', filter);
  if (newestFirst) parameters.set('newestFirst', 'true');
  const search = parameters.toString();
  return `api/tables/${encodeURIComponent(table)}.csv${search && `?${search}`}`;
}

/** Saves a response as a file. Browsers keep a large blob on disk, so that it does not fill the memory. */
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
