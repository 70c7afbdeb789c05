import { createTheme } from 'ag-grid-community';

/** The grid in the colours of `live-table.css`, so that an application changes both in one place. */
export const theme = createTheme().withParams({
  accentColor: 'var(--live-table-accent)',
  backgroundColor: 'var(--live-table-background)',
  foregroundColor: 'var(--live-table-text)',
  borderColor: 'var(--live-table-line)',
  headerBackgroundColor: 'var(--live-table-raised)',
  headerTextColor: 'var(--live-table-text)',
  oddRowBackgroundColor: 'var(--live-table-stripe)',
  rowHoverColor: 'var(--live-table-hover)',
  browserColorScheme: 'inherit',
  fontFamily: 'inherit',
  fontSize: 13,
  headerFontWeight: 600,
  rowHeight: 28,
  headerHeight: 34,
  cellHorizontalPadding: 10,
  wrapperBorder: false,
  wrapperBorderRadius: 0,
  columnBorder: false,
});
