/* A gateway in its own process: the parent sends the configuration and receives the URL. */
import { parseConfig, startGateway } from "deltawire";

async function start({ toml }: { toml: string }): Promise<void> {
  const { url } = await startGateway({
    config: parseConfig(toml, { file: "bench.toml", env: {} }),
    env: {},
    dataFolder: undefined,
    // Lines are formatted as usual and then discarded.
    logTarget: { write: () => undefined },
  });
  process.send?.({ url });
}

process.once("message", (message: { toml: string }) => void start(message));
