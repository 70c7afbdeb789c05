export { FakeClient, FakeSubscription } from './fake-client.js';
export { LiveTableHarness } from './live-table-harness.js';
