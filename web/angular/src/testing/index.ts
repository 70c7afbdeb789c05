export { LiveTableHarness } from './live-table-harness.js';
