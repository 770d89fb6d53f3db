import { formatTomlString } from "../migrate/format-toml.ts";

export interface CodexConfigInput {
  /** The gateway's URL as Codex reaches it, without `/v1`. */
  url: string;
  model: string;
  /** The token that Codex sends; any text if the gateway requires none. */
  token: string;
}

/** Returns the settings to add to Codex's `config.toml`. */
export function formatCodexConfig({ url, model, token }: CodexConfigInput): string {
  return `model = ${formatTomlString(model)}
model_provider = "deltawire"

[model_providers.deltawire]
name = "Deltawire"
base_url = ${formatTomlString(`${url}/v1`)}
wire_api = "responses"
experimental_bearer_token = ${formatTomlString(token)}
model_catalog_url = ${formatTomlString(`${url}/v1/models`)}
`;
}
