import { errorText } from "@deltawire/agent";
import type { LoadedConfig } from "../config/load.ts";
import { startGateway } from "../gateway.ts";
import type { ModelList } from "../models/list.ts";
import { modelList } from "../models/list.ts";
import type { Flags } from "./arguments.ts";
import { runningGateway } from "./running.ts";
import type { Terminal } from "../terminal.ts";

const patienceMs = 8000;

/** The names that clients can use: of the running gateway, or of one that is started for the question. */
export async function models(
  loaded: LoadedConfig,
  flags: Flags,
  terminal: Terminal,
): Promise<number> {
  const { stdout, stderr } = terminal;
  for (const warning of loaded.config.warnings) stderr.write(`warning: ${warning}\n`);
  const { list, failures } = await listingOf(loaded, terminal);
  for (const { upstream, why } of failures)
    stderr.write(`${upstream}: could not list models: ${why}\n`);
  if (flags.json) stdout.write(`${JSON.stringify(list)}\n`);
  else if (list.data.length === 0) {
    stderr.write('no model is known; a name can still be written as "upstream/model"\n');
    return 1;
  } else {
    const ids = new Set(list.data.map(({ id }) => id));
    const windows = new Map(list.models.map(({ slug, context_window: size }) => [slug, size]));
    // A model that has two names is one line.
    const rows = list.data.flatMap(({ id, owned_by: owner }) => {
      if (ids.has(`${owner}/${id}`)) return [];
      const short = id.startsWith(`${owner}/`) ? id.slice(owner.length + 1) : "";
      const size = windows.get(id);
      return [[id, ids.has(short) ? `or ${short}` : "", size ? `${Math.round(size / 1000)}k` : ""]];
    });
    const widths = [0, 1].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
    for (const [id = "", short = "", size = ""] of rows)
      stdout.write(
        `${id.padEnd(widths[0] ?? 0)}  ${short.padEnd(widths[1] ?? 0)}  ${size}`.trimEnd() + "\n",
      );
  }
  return 0;
}

interface Listing {
  list: ModelList;
  /** Upstreams that did not list theirs. */
  failures: readonly { upstream: string; why: string }[];
}

async function listingOf({ config }: LoadedConfig, { env }: Terminal): Promise<Listing> {
  const running = await runningGateway(config);
  if (running !== undefined) {
    const list = (await running.ask("/v1/models")) as ModelList;
    const { upstreams } = (await running.ask("/deltawire/upstreams")) as RunningUpstreams;
    const failures = upstreams.flatMap(({ name, listing }) =>
      listing.is === "failed" ? [{ upstream: name, why: listing.why ?? "" }] : [],
    );
    return { list, failures };
  }
  const server = { ...config.server, host: "127.0.0.1", port: 0, logLevel: "silent" as const };
  const gateway = await startGateway({
    config: { ...config, server },
    env,
    dataFolder: undefined,
    logTo: { write: () => undefined },
  });
  try {
    const { discovery, relay } = gateway;
    await discovery.ready(patienceMs);
    const list = modelList({ config: gateway.config, discovered: discovery.snapshot() });
    const failures = [...gateway.config.upstreams.values()].flatMap((upstream) => {
      const standing = discovery.standing(upstream);
      if (standing.is === "asking")
        return [{ upstream: upstream.name, why: `no answer within ${patienceMs / 1000} s` }];
      if (standing.is !== "failed") return [];
      return [{ upstream: upstream.name, why: errorText(standing.why, relay.redactor) }];
    });
    return { list, failures };
  } finally {
    await gateway.close();
  }
}

/** What is read of `GET /deltawire/upstreams`. */
interface RunningUpstreams {
  upstreams: { name: string; listing: { is: string; why?: string } }[];
}
