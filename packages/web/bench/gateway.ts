/* A gateway in a process of its own: its parent sends the configuration and receives the address. */
import { readConfig, startGateway } from "deltawire";

async function start({ toml }: { toml: string }): Promise<void> {
  const { url } = await startGateway({
    config: readConfig(toml, { file: "bench.toml", env: {} }),
    env: {},
    dataFolder: undefined,
    // Lines are formatted as usual and then discarded.
    logTo: { write: () => undefined },
  });
  process.send?.({ url });
}

process.once("message", (message: { toml: string }) => void start(message));
