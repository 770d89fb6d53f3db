import { join } from "node:path";
import type { CodingAgent } from "./coding-agent.ts";
import type { ConnectedModel } from "./connection.ts";
import { findSettingsFolder } from "./settings-folder.ts";

export const qwenCode: CodingAgent = {
  id: "qwen",
  name: "Qwen Code",
  formatRunCommand: (modelFlag) => `run ${modelFlag} -- qwen`,
  programs: ["qwen"],
  installCommand: "npm install -g @qwen-code/qwen-code",
  packageFile: "@qwen-code/qwen-code/cli-entry.js",
  minContextWindow: 32_000,
  subcommands: [
    "auth",
    "board",
    "channel",
    "extensions",
    "hooks",
    "mcp",
    "sandbox",
    "sessions",
    "update",
  ],
  buildLaunch: ({ url, token, model }, folder) => ({
    variables: {
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: token,
      OPENAI_MODEL: model.id,
      // Lowest precedence: it only adds the context window of the model.
      QWEN_CODE_SYSTEM_DEFAULTS_PATH: join(folder, defaultsName),
    },
    // The flags take precedence over the user's settings.json, the variables do not (0.24.4).
    flags: [
      { names: ["--auth-type"], value: "openai" },
      { names: ["--openai-base-url"], value: `${url}/v1` },
      { names: ["--model", "-m"], value: model.id },
    ],
    files: { [defaultsName]: JSON.stringify({ model: buildGenerationConfig(model) }) },
  }),
  listSettings: ({ url, token, model }, host) => [
    {
      path: join(findSettingsFolder("QWEN_HOME", ".qwen", host), "settings.json"),
      format: "json",
      settings: [
        { path: ["security", "auth", "selectedType"], value: "openai" },
        { path: ["security", "auth", "baseUrl"], value: `${url}/v1` },
        { path: ["security", "auth", "apiKey"], value: token },
        { path: ["model", "name"], value: model.id },
        ...(model.contextWindow === undefined
          ? []
          : [
              {
                path: ["model", "generationConfig", "contextWindowSize"],
                value: model.contextWindow,
              },
            ]),
      ],
    },
  ],
};

const defaultsName = "qwen-defaults.json";

function buildGenerationConfig({ contextWindow }: ConnectedModel) {
  return contextWindow === undefined
    ? {}
    : { generationConfig: { contextWindowSize: contextWindow } };
}
