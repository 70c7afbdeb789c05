/** Puts a text on the clipboard; false if the browser does not let us. */
export async function copyText(text: string, document: Document): Promise<boolean> {
  try {
    await document.defaultView?.navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text, document);
  }
}

/** For pages without TLS, where there is no clipboard to write to. */
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

/** Values as one line of a spreadsheet. What would break the line apart is put in quotes. */
export function asTsv(values: readonly unknown[]): string {
  return values
    .map((value) => (value === null || value === undefined ? '' : String(value)))
    .map((text) => (/[\t\r\n"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text))
    .join('\t');
}
