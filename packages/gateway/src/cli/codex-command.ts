import { findModelArgument } from "../codex/build-arguments.ts";
import { runCodex } from "../codex/run-codex.ts";
import { resolveDataFolder } from "../config/config-paths.ts";
import { didYouMean } from "@deltawire/tasks";
import { getConfigFile, type LoadedConfig } from "../config/load-config.ts";
import { startGateway } from "../gateway.ts";
import { buildModelList } from "../models/model-list.ts";
import type { ModelList } from "../models/model-list.ts";
import type { CliFlags } from "./parse-arguments.ts";
import { findRunningGateway } from "./running-gateway.ts";
import type { Terminal } from "../terminal.ts";

const discoveryTimeoutMs = 3000;
/** Codex needs a token, even if the gateway accepts any. */
const noToken = "local";

/** Runs Codex against the running gateway, or against one that is started for as long as Codex runs. */
export async function runCodexCommand(
  loaded: LoadedConfig,
  { args, flags }: { args: readonly string[]; flags: CliFlags },
  terminal: Terminal,
): Promise<number> {
  const { env } = terminal;
  const { config } = loaded;
  const dataFolder = resolveDataFolder(flags.data, terminal);
  const running = await findRunningGateway(config, flags.data, terminal);
  if (running !== undefined) {
    const list = (await running.request("/v1/models")) as ModelList;
    warnIfModelMisspelled(args, list, terminal);
    const model = firstModelId(list);
    const { url, token = noToken } = running;
    return runCodex({ args, gateway: { url, token, model }, terminal });
  }
  // Codex uses the full screen, so the gateway must not log to the terminal.
  const server = { ...config.server, host: "127.0.0.1", port: 0, logLevel: "silent" as const };
  const gateway = await startGateway({
    config: { ...config, server },
    env,
    dataFolder,
    configFile: getConfigFile(loaded),
    logTarget: { write: () => undefined },
  });
  try {
    await gateway.discovery.waitUntilReady(discoveryTimeoutMs);
    const discovered = gateway.discovery.getModels();
    const list = buildModelList({ config: gateway.config, discovered });
    warnIfModelMisspelled(args, list, terminal);
    const model = firstModelId(list);
    const { url, localToken } = gateway;
    const token = config.server.clients[0]?.token ?? localToken;
    return await runCodex({ args, gateway: { url, token, model }, terminal });
  } finally {
    await gateway.close();
  }
}

/** Warns about an unlisted model whose name is similar to a listed one. Not an error: unlisted models may work. */
function warnIfModelMisspelled(
  args: readonly string[],
  { data }: ModelList,
  { stderr }: Terminal,
): void {
  const name = findModelArgument(args);
  const names = data.map(({ id }) => id);
  if (name === undefined || names.includes(name)) return;
  const suggestion = didYouMean(name, names);
  if (suggestion !== "")
    stderr.write(`warning: no upstream lists the model "${name}"${suggestion}\n`);
}

function firstModelId({ data }: ModelList): string | undefined {
  return data[0]?.id;
}
