import { join } from "node:path";
import { parseJsonDocument } from "../migrate/json-document.ts";
import type { CodingAgent } from "./coding-agent.ts";
import type { GatewayConnection } from "./connection.ts";
import { findSettingsFolder } from "./settings-folder.ts";

export const claudeCode: CodingAgent = {
  id: "claude",
  name: "Claude Code",
  formatRunCommand: (modelFlag) => `claude ${modelFlag}`,
  programs: ["claude"],
  installCommand: "npm install -g @anthropic-ai/claude-code",
  packageFile: "@anthropic-ai/claude-code/bin/claude.exe",
  // Its prompt and tools take 46 to 85 KB, and it compacts 25,000 tokens before the window is full (2.1.325).
  minContextWindow: 48_000,
  subcommands: [],
  buildLaunch: (connection, folder) => ({
    variables: { ...buildVariables(connection), ...removedVariables(undefined) },
    /*
     * The `env` of the user's settings.json overrides the environment, and that of --settings overrides both (2.1.325). A
     * file, because arguments are visible to other users.
     */
    flags: [{ names: ["--settings"], value: join(folder, settingsName) }],
    files: {
      [settingsName]: JSON.stringify({
        env: { ...buildVariables(connection), ...removedVariables("") },
      }),
    },
  }),
  listSettings: (connection, host) => [
    {
      path: join(findSettingsFolder("CLAUDE_CONFIG_DIR", ".claude", host), "settings.json"),
      format: "json",
      settings: Object.entries(buildVariables(connection)).map(([name, value]) => ({
        path: ["env", name],
        value,
      })),
    },
  ],
  checkSettings: (text) => {
    const { env } = parseJsonDocument(text, "").value as { env?: Record<string, unknown> };
    return overridingVariables
      .filter((name) => ![undefined, ""].includes(env?.[name] as string | undefined))
      .map(
        (name) =>
          `Remove ${name} from "env": Claude Code would send requests elsewhere, or send the key to this gateway.`,
      );
  },
};

const settingsName = "claude-settings.json";

function buildVariables({ url, token, model, smallModel }: GatewayConnection) {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: token,
    ANTHROPIC_MODEL: model.id,
    ANTHROPIC_DEFAULT_OPUS_MODEL: model.id,
    ANTHROPIC_DEFAULT_SONNET_MODEL: model.id,
    ANTHROPIC_DEFAULT_FABLE_MODEL: model.id,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: smallModel.id,
    // Without it, the window of a model that Claude Code does not know is taken as 1M, and nothing is compacted.
    ...(model.contextWindow === undefined
      ? {}
      : { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(model.contextWindow) }),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
}

/** Variables that would send requests elsewhere, or a provider's key to the gateway. */
function removedVariables<Value extends "" | undefined>(value: Value): Record<string, Value> {
  return Object.fromEntries(overridingVariables.map((name) => [name, value]));
}

const overridingVariables = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_SMALL_FAST_MODEL",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "CLAUDE_CODE_USE_BEDROCK",
  "CLAUDE_CODE_USE_VERTEX",
  "CLAUDE_CODE_USE_FOUNDRY",
];
