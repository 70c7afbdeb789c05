export { entityTable } from './entity-table';
export {
  EVERTABLE_CLIENT,
  Evertable,
  type LiveClient,
  provideEvertable,
  type TableStream,
} from './evertable';
export { LiveTable } from './live-table';
