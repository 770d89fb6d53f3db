import { defineConfig } from "vitest/config";

// Tests run in vite's server environment, which does not read `resolve.conditions`.
const ssr = { resolve: { conditions: ["@deltawire/source"] } };
const folder = "packages/gateway/clients";
const agents = "packages/gateway/agents";
const page = "packages/web/browser-test";

/** Real clients through the gateway; they are large and are fetched at the first run. */
export default defineConfig({
  test: {
    // More than there are cores: most of the time is spent in waiting.
    maxWorkers: 4,
    projects: [
      {
        ssr,
        test: {
          name: "clients",
          include: [`${folder}/*.test.ts`],
          globalSetup: `${folder}/setup.ts`,
          testTimeout: 90_000,
        },
      },
      {
        ssr,
        test: {
          name: "page",
          include: [`${page}/*.test.ts`],
          globalSetup: `${page}/setup.ts`,
          // Ends tests that hang. The longest draws 332 screens in 30 s alone, and took over 60 s beside other work.
          testTimeout: 240_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
        },
      },
      {
        ssr,
        test: {
          name: "scale",
          include: [
            "test/scale/*.test.ts",
            `${page}/scale/*.test.ts`,
            // The same tests on SQLite and PostgreSQL.
            "packages/store/test/contract.test.ts",
          ],
          globalSetup: `${page}/setup.ts`,
          // Each file starts its own servers, and their time limits must hold beside the others.
          maxWorkers: 2,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
        },
      },
      {
        ssr,
        test: {
          name: "agents",
          include: [`${agents}/*.test.ts`],
          // Each test runs processes that use a core for a second or more.
          maxConcurrency: 3,
          testTimeout: 150_000,
        },
      },
      {
        ssr,
        test: {
          name: "older-codex",
          include: [`${folder}/older-codex/*.test.ts`],
          globalSetup: `${folder}/older-codex/setup.ts`,
          testTimeout: 90_000,
        },
      },
    ],
  },
});
