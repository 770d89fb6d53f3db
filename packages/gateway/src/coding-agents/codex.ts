import { listChatProviders } from "../codex/build-arguments.ts";
import { getCodexConfigPath } from "../migrate/config-files.ts";
import type { ConnectableAgent } from "./coding-agent.ts";

/** Codex is started by `codex/run-codex.ts`, because its arguments depend on its configuration. */
export const codex: ConnectableAgent = {
  id: "codex",
  name: "Codex",
  formatRunCommand: (modelFlag) => `codex ${modelFlag}`,
  listSettings: ({ url, token, model }, { env, home }) => {
    const provider = {
      name: "Deltawire",
      base_url: `${url}/v1`,
      wire_api: "responses",
      experimental_bearer_token: token,
      model_catalog_url: `${url}/v1/models`,
    };
    return [
      {
        path: getCodexConfigPath(env, home),
        format: "toml",
        settings: [
          { path: ["model"], value: model.id },
          { path: ["model_provider"], value: "deltawire" },
          ...Object.entries(provider).map(([field, value]) => ({
            path: ["model_providers", "deltawire", field],
            value,
          })),
        ],
      },
    ];
  },
  checkSettings: (text) => {
    const providers = listChatProviders(text);
    return providers.length === 0
      ? []
      : [
          `Codex does not start while a provider has wire_api = "chat" (${providers.join(", ")}); the command migrate moves it to this gateway.`,
        ];
  },
};
