import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { include: ['test/**/*.test.ts'], isolate: false, maxWorkers: 1 }, // no test leaves anything behind
});
