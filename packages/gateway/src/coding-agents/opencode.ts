import { existsSync } from "node:fs";
import { join } from "node:path";
import type { HostEnvironment } from "../config/config-paths.ts";
import type { CodingAgent } from "./coding-agent.ts";
import {
  getOutputLimit,
  tokenVariable,
  type ConnectedModel,
  type GatewayConnection,
} from "./connection.ts";
import { findSettingsFolder } from "./settings-folder.ts";

export const opencode: CodingAgent = {
  id: "opencode",
  name: "opencode",
  formatRunCommand: (modelFlag) => `run ${modelFlag} -- opencode`,
  programs: ["opencode"],
  installCommand: "npm install -g opencode-ai",
  packageFile: "opencode-ai/bin/opencode.exe",
  minContextWindow: 32_000,
  subcommands: [],
  // Merged with the user's configuration, and takes precedence over it (1.18.33).
  buildLaunch: (connection) => ({
    variables: {
      [tokenVariable]: connection.token,
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        ...buildModelSettings(connection),
        provider: {
          [providerName]: buildProvider(
            connection.url,
            `{env:${tokenVariable}}`,
            connection.models,
          ),
        },
      }),
    },
  }),
  listSettings: (connection, host) => {
    const { url, token, model, smallModel } = connection;
    const models = smallModel.id === model.id ? [model] : [model, smallModel];
    return [
      {
        path: findConfigFile(host),
        format: "json",
        settings: [
          { path: ["provider", providerName], value: buildProvider(url, token, models) },
          ...Object.entries(buildModelSettings(connection)).map(([name, value]) => ({
            path: [name],
            value,
          })),
        ],
      },
    ];
  },
};

const providerName = "deltawire";

function buildModelSettings({ model, smallModel }: GatewayConnection) {
  return {
    model: `${providerName}/${model.id}`,
    small_model: `${providerName}/${smallModel.id}`,
  };
}

function buildProvider(url: string, apiKey: string, models: readonly ConnectedModel[]) {
  return {
    npm: "@ai-sdk/openai-compatible",
    name: "Deltawire",
    options: { baseURL: `${url}/v1`, apiKey },
    models: Object.fromEntries(models.map((model) => [model.id, buildModel(model)])),
  };
}

function buildModel(model: ConnectedModel) {
  return {
    name: model.id,
    reasoning: model.canReason,
    tool_call: true,
    attachment: model.hasVision,
    modalities: { input: model.hasVision ? ["text", "image"] : ["text"], output: ["text"] },
    limit: { context: model.contextWindow ?? 128_000, output: getOutputLimit(model) },
  };
}

/** Returns the existing configuration file of the user, else the default one. */
function findConfigFile(host: HostEnvironment): string {
  const folder = join(findSettingsFolder("XDG_CONFIG_HOME", ".config", host), "opencode");
  const commentedFile = join(folder, "opencode.jsonc");
  return existsSync(commentedFile) ? commentedFile : join(folder, "opencode.json");
}
