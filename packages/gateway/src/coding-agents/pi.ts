import { join } from "node:path";
import type { CodingAgent } from "./coding-agent.ts";
import {
  getOutputLimit,
  tokenVariable,
  type ConnectedModel,
  type GatewayConnection,
} from "./connection.ts";
import { findSettingsFolder } from "./settings-folder.ts";

export const pi: CodingAgent = {
  id: "pi",
  name: "pi",
  formatRunCommand: (modelFlag) => `run ${modelFlag} -- pi`,
  programs: ["pi"],
  installCommand: "npm install -g @earendil-works/pi-coding-agent",
  packageFile: "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
  minContextWindow: 16_000,
  subcommands: ["install", "remove", "uninstall", "update", "list", "config", "auth"],
  // An extension adds the provider. Another PI_CODING_AGENT_DIR would hide the user's sessions, settings and logins (0.87.1).
  buildLaunch: (connection, folder) => ({
    variables: { [tokenVariable]: connection.token },
    flags: [
      {
        names: ["--extension", "-e"],
        value: join(folder, extensionName),
        isRepeatable: true,
      },
      { names: ["--provider"], value: providerName },
      { names: ["--model"], value: connection.model.id },
    ],
    files: { [extensionName]: formatExtension(connection) },
  }),
  listSettings: ({ url, token, model }, host) => {
    const folder = findSettingsFolder("PI_CODING_AGENT_DIR", ".pi/agent", host);
    return [
      {
        path: join(folder, "models.json"),
        format: "json",
        settings: [
          {
            path: ["providers", providerName],
            // `$` and a leading `!` have a meaning in this file.
            value: buildProvider(url, token.replaceAll("$", "$$$$").replace(/^!/, "$$!"), [model]),
          },
        ],
      },
      {
        path: join(folder, "settings.json"),
        format: "json",
        settings: [
          { path: ["defaultProvider"], value: providerName },
          { path: ["defaultModel"], value: model.id },
        ],
      },
    ];
  },
};

const providerName = "deltawire";
const extensionName = "deltawire.ts";

function formatExtension({ url, models }: GatewayConnection): string {
  const provider = buildProvider(url, `$${tokenVariable}`, models);
  return `export default function (pi) {
  pi.registerProvider(${JSON.stringify(providerName)}, ${JSON.stringify(provider)});
}
`;
}

function buildProvider(url: string, apiKey: string, models: readonly ConnectedModel[]) {
  return {
    baseUrl: `${url}/v1`,
    api: "openai-completions",
    apiKey,
    models: models.map((model) => ({
      id: model.id,
      name: model.id,
      reasoning: model.canReason,
      input: model.hasVision ? ["text", "image"] : ["text"],
      contextWindow: model.contextWindow ?? 128_000,
      maxTokens: getOutputLimit(model),
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    })),
  };
}
