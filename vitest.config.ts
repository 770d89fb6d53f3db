import { defineConfig } from "vitest/config";

export default defineConfig({
  // Tests run in vite's server environment, which does not read `resolve.conditions`.
  ssr: { resolve: { conditions: ["@deltawire/source"] } },
  test: {
    // One worker is the default on two cores, and most of these tests wait.
    maxWorkers: 2,
    // These end tests that hang. Properties take a second or two, and many times that where the machine has other work.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A test in which nothing is expected fails: it returned early, or looped over nothing.
    expect: { poll: { timeout: 15_000 }, requireAssertions: true },
    include: ["packages/*/test/**/*.test.{ts,tsx}", "test/**/*.test.ts"],
    // `npm run test:scale` runs these.
    exclude: ["**/node_modules/**", "test/scale/**"],
  },
});
