import { defineConfig } from "vitest/config";

export default defineConfig({
  // Tests run in vite's server environment, which does not read `resolve.conditions`.
  ssr: { resolve: { conditions: ["@deltawire/source"] } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
  },
});
