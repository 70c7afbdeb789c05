export { withMarks } from './cells.js';
export { entityTable } from './entity-table.js';
export {
  EVERTABLE_CLIENT,
  Evertable,
  type LiveClient,
  provideEvertable,
  type TableStream,
} from './evertable.js';
export { LiveTable } from './live-table.js';
