import { parseConfig, startGateway } from "deltawire";

/** Starts a gateway with the demo model and agents, for the examples that need one. It stores nothing. */
export async function startReadmeGateway(): Promise<{ url: string; close: () => Promise<void> }> {
  const toml = "[server]\nport = 0\ndemo = true\n";
  const config = parseConfig(toml, { file: "deltawire.toml", env: {} });
  const logTarget = { write: () => true };
  return startGateway({ config, env: {}, dataFolder: undefined, logTarget });
}
