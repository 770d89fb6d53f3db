import type { LoadedConfig } from "../config/load-config.ts";
import type { UpstreamConfig } from "../config/config.ts";
import { toDisplayPath } from "../migrate/prepare-migration.ts";
import type { Terminal } from "../terminal.ts";
import type { CliFlags } from "./parse-arguments.ts";
import type { RunningGateway } from "./running-gateway.ts";

/** The fields of `GET /deltawire/upstreams` that are read here. */
interface RunningUpstream {
  readonly name: string;
  readonly base_url: string;
  readonly speaks: string;
  readonly profile: string;
  readonly key_variable?: string;
}

/** Warns if the flags or the configuration file of this command have upstreams that the running gateway does not have. */
export async function warnAboutIgnoredSettings(
  { url, request }: Pick<RunningGateway, "url" | "request">,
  loaded: LoadedConfig,
  flags: CliFlags,
  terminal: Terminal,
): Promise<void> {
  const settings = listSettings(loaded, flags, terminal);
  if (settings.length === 0) return;
  const running = await listRunningUpstreams(request);
  const missing = [...loaded.config.upstreams.values()].filter(
    (upstream) => running?.some((other) => isSameUpstream(upstream, other)) !== true,
  );
  if (missing.length === 0) return;
  const subject = new Intl.ListFormat("en-GB").format(settings);
  const verb = settings.length === 1 ? "has" : "have";
  const names = missing.map(({ name }) => name).join(", ");
  terminal.stderr.write(
    `warning: the gateway that is already running at ${url} is used, and ${subject} ${verb} no effect on it (upstream ${names}); stop that gateway, or pass another --port\n`,
  );
}

/** Returns the flags that add upstreams, else the file that does. */
function listSettings(
  { source }: LoadedConfig,
  flags: CliFlags,
  terminal: Terminal,
): readonly string[] {
  const given = [
    ["--config", flags.config],
    ["--upstream", flags.upstream],
    ["--api-key-env", flags.apiKeyEnv],
    ["--speaks", flags.speaks],
    ["--profile", flags.profile],
  ].flatMap(([flag = "", value]) => (value === undefined ? [] : [flag]));
  if (given.length > 0) return given;
  return source.kind === "file" ? [toDisplayPath(source.path, terminal)] : [];
}

/** Returns undefined if the token of this command may not list them. */
async function listRunningUpstreams(
  request: RunningGateway["request"],
): Promise<readonly RunningUpstream[] | undefined> {
  try {
    const { upstreams } = (await request("/deltawire/upstreams")) as {
      upstreams: readonly RunningUpstream[];
    };
    return upstreams;
  } catch {
    return undefined;
  }
}

function isSameUpstream(upstream: UpstreamConfig, running: RunningUpstream): boolean {
  return (
    upstream.name === running.name &&
    upstream.baseUrl === running.base_url &&
    upstream.speaks === running.speaks &&
    upstream.profile.name === running.profile &&
    upstream.apiKeyVariable === running.key_variable
  );
}
