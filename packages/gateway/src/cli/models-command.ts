import type { LoadedConfig } from "../config/load-config.ts";
import { startGateway } from "../gateway.ts";
import type { ModelList } from "../models/model-list.ts";
import { buildModelList } from "../models/model-list.ts";
import { warnAboutIgnoredSettings } from "./ignored-settings.ts";
import type { CliFlags } from "./parse-arguments.ts";
import { listFailedListings, type FailedListing } from "./reachable-gateway.ts";
import { findRunningGateway } from "./running-gateway.ts";
import type { Terminal } from "../terminal.ts";

const discoveryTimeoutMs = 8000;

/** Lists the model names that clients can use, as the running gateway or a temporary one reports them. */
export async function runModelsCommand(
  loaded: LoadedConfig,
  flags: CliFlags,
  terminal: Terminal,
): Promise<number> {
  const { stdout, stderr } = terminal;
  for (const warning of loaded.config.warnings) stderr.write(`warning: ${warning}\n`);
  const { list, listErrors } = await fetchListing(loaded, flags, terminal);
  for (const { upstream, reason } of listErrors)
    stderr.write(`${upstream}: could not list models: ${reason}\n`);
  if (flags.json) stdout.write(`${JSON.stringify(list)}\n`);
  else if (list.data.length === 0) {
    stderr.write(
      'no models found; models that no upstream lists can still be used as "upstream/model"\n',
    );
    return 1;
  } else {
    const ids = new Set(list.data.map(({ id }) => id));
    const contextWindows = new Map(
      list.models.map(({ slug, context_window: size }) => [slug, size]),
    );
    // A model that is also listed as `upstream/model` gets one row, with both names.
    const models = list.data.flatMap(({ id, owned_by: owner }) => {
      if (ids.has(`${owner}/${id}`)) return [];
      const short = id.startsWith(`${owner}/`) ? id.slice(owner.length + 1) : "";
      const size = contextWindows.get(id);
      return [[id, ids.has(short) ? short : "", size ? `${Math.round(size / 1000)}k` : ""]];
    });
    const rows = [["model", "short name", "context"], ...models];
    const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    for (const [id = "", short = "", size = ""] of rows)
      stdout.write(
        `${id.padEnd(widths[0] ?? 0)}  ${short.padEnd(widths[1] ?? 0)}  ${size}`.trimEnd() + "\n",
      );
  }
  return 0;
}

interface ModelListing {
  list: ModelList;
  /** Upstreams whose models could not be listed. */
  listErrors: readonly FailedListing[];
}

async function fetchListing(
  loaded: LoadedConfig,
  flags: CliFlags,
  terminal: Terminal,
): Promise<ModelListing> {
  const { env } = terminal;
  const { config } = loaded;
  const running = await findRunningGateway(config, flags.data, terminal);
  if (running !== undefined) {
    await warnAboutIgnoredSettings(running, loaded, flags, terminal);
    const list = (await running.request("/v1/models")) as ModelList;
    const { upstreams } = (await running.request("/deltawire/upstreams")) as RunningUpstreams;
    const listErrors = upstreams.flatMap(({ name, listing }) =>
      listing.status === "failed" ? [{ upstream: name, reason: listing.reason ?? "" }] : [],
    );
    return { list, listErrors };
  }
  const server = { ...config.server, host: "127.0.0.1", port: 0, logLevel: "silent" as const };
  const gateway = await startGateway({
    config: { ...config, server },
    env,
    dataFolder: undefined,
    logTarget: { write: () => undefined },
  });
  try {
    const { discovery } = gateway;
    await discovery.waitUntilReady(discoveryTimeoutMs);
    const list = buildModelList({ config: gateway.config, discovered: discovery.getModels() });
    const listErrors = listFailedListings(gateway, discoveryTimeoutMs);
    return { list, listErrors };
  } finally {
    await gateway.close();
  }
}

/** The fields of `GET /deltawire/upstreams` that are read here. */
interface RunningUpstreams {
  upstreams: { name: string; listing: { status: string; reason?: string } }[];
}
