import { modelIn } from "../codex/arguments.ts";
import { codexCommand } from "../codex/command.ts";
import { dataFolderOf } from "../config/find.ts";
import { didYouMean } from "@deltawire/tasks";
import { configFileOf, type LoadedConfig } from "../config/load.ts";
import { startGateway } from "../gateway.ts";
import { modelList } from "../models/list.ts";
import type { ModelList } from "../models/list.ts";
import type { Flags } from "./arguments.ts";
import { runningGateway } from "./running.ts";
import type { Terminal } from "../terminal.ts";

const patienceMs = 3000;

/** Runs Codex against the gateway that runs here, or one of its own for as long as Codex does. */
export async function codex(
  loaded: LoadedConfig,
  { args, flags }: { args: readonly string[]; flags: Flags },
  terminal: Terminal,
): Promise<number> {
  const { env } = terminal;
  const { config } = loaded;
  const token = config.server.clients[0]?.token ?? "local";
  const running = await runningGateway(config);
  if (running !== undefined) {
    const list = (await running.ask("/v1/models")) as ModelList;
    warnOfUnlisted(args, list, terminal);
    const model = firstOf(list);
    return codexCommand({ args, gateway: { url: running.url, token, model }, terminal });
  }
  // Codex draws on the whole terminal: nothing may be written beside it.
  const server = { ...config.server, host: "127.0.0.1", port: 0, logLevel: "silent" as const };
  const gateway = await startGateway({
    config: { ...config, server },
    env,
    dataFolder: dataFolderOf(flags.data, terminal),
    configFile: configFileOf(loaded),
    logTo: { write: () => undefined },
  });
  try {
    await gateway.discovery.ready(patienceMs);
    const discovered = gateway.discovery.snapshot();
    const list = modelList({ config: gateway.config, discovered });
    warnOfUnlisted(args, list, terminal);
    const model = firstOf(list);
    return await codexCommand({ args, gateway: { url: gateway.url, token, model }, terminal });
  } finally {
    await gateway.close();
  }
}

/** A name that no upstream lists may still work, so Codex is started all the same. */
function warnOfUnlisted(args: readonly string[], { data }: ModelList, { stderr }: Terminal): void {
  const name = modelIn(args);
  const names = data.map(({ id }) => id);
  if (name === undefined || names.includes(name)) return;
  const near = didYouMean(name, names);
  if (near !== "") stderr.write(`warning: no model is listed as "${name}";${near}\n`);
}

function firstOf({ data }: ModelList): string | undefined {
  return data[0]?.id;
}
