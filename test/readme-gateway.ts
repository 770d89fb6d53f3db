import { readConfig, startGateway } from "deltawire";

/** A gateway with the demo model and its agents, for the examples that need one. It keeps nothing. */
export async function readmeGateway(): Promise<{ url: string; close: () => Promise<void> }> {
  const toml = "[server]\nport = 0\ndemo = true\n";
  const config = readConfig(toml, { file: "deltawire.toml", env: {} });
  const logTo = { write: () => true };
  return startGateway({ config, env: {}, dataFolder: undefined, logTo });
}
