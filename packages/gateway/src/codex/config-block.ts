import { tomlString } from "../migrate/toml-text.ts";

export interface CodexBlock {
  /** Of the gateway, as Codex reaches it. */
  url: string;
  model: string;
  /** What Codex sends; any word where the gateway asks for none. */
  token: string;
}

/** What is put into Codex's `config.toml` for good. */
export function codexBlock({ url, model, token }: CodexBlock): string {
  return `model = ${tomlString(model)}
model_provider = "deltawire"

[model_providers.deltawire]
name = "Deltawire"
base_url = ${tomlString(`${url}/v1`)}
wire_api = "responses"
experimental_bearer_token = ${tomlString(token)}
model_catalog_url = ${tomlString(`${url}/v1/models`)}
`;
}
