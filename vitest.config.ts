import { defineConfig } from "vitest/config";

export default defineConfig({
  // Tests run in vite's server environment, which does not read `resolve.conditions`.
  ssr: { resolve: { conditions: ["@deltawire/source"] } },
  test: {
    // One worker is the default on two cores, and most of these tests wait.
    maxWorkers: 2,
    // Properties take a second or two, and several times that where the machine has other work.
    testTimeout: 20_000,
    hookTimeout: 30_000,
    expect: { poll: { timeout: 5_000 } },
    include: ["packages/*/test/**/*.test.{ts,tsx}", "test/**/*.test.ts"],
  },
});
