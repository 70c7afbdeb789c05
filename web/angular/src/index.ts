export { withMarks } from './cells.js';
export {
  EVERTABLE_CLIENT,
  Evertable,
  entityTable,
  type LiveClient,
  provideEvertable,
  type TableStream,
} from './evertable.js';
export { LiveTable } from './live-table.js';
